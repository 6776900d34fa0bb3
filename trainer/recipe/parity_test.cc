// Composes every recipe of SuperGradients from its unmodified files, and
// compares with what Hydra made of them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/compose.h"

namespace slipway::recipe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kComposed[] = "trainer/recipe/testdata/composed";

// The folder of SuperGradients' recipes, by one file in it.
std::string RecipeFolder() {
  const char* const file = std::getenv("CIFAR10_RESNET");
  return file == nullptr ? "" : fs::path(file).parent_path().string();
}

// What the recipes that do not compose as they are were composed with.
std::vector<std::string> OverridesOf(const std::string& recipe) {
  static const auto* const kOverrides =
      new std::map<std::string, std::vector<std::string>>{
          {"cityscapes_kd_base",
           {"student_architecture=ddrnet_23_slim",
            "student_checkpoint_params.checkpoint_path=x"}},
          {"cityscapes_segformer", {"+architecture=segformer_b0"}},
          {"roboflow_ppyoloe", {"dataset_name=d"}},
          {"roboflow_yolox", {"dataset_name=d"}},
          {"roboflow_yolo_nas_s", {"dataset_name=d"}},
          {"roboflow_yolo_nas_m", {"dataset_name=d"}},
          {"roboflow_yolo_nas_s_qat",
           {"dataset_name=d", "checkpoint_params.checkpoint_path=x"}},
      };
  const auto found = kOverrides->find(recipe);
  return found == kOverrides->end() ? std::vector<std::string>()
                                    : found->second;
}

std::vector<std::string> Recipes() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kComposed)) {
    names.push_back(entry.path().stem().string());
  }
  return names;
}

// Where two values differ, one line each. Unlike ==, tells 1 from 1.0.
void Compare(const Json& expected, const Json& actual, const std::string& path,
             std::vector<std::string>& differences) {
  if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      Compare(value, actual.value(key, Json("absent")), path + "." + key,
              differences);
    }
    for (const auto& [key, value] : actual.items()) {
      if (!expected.contains(key)) {
        differences.push_back(path + "." + key + " should not be there");
      }
    }
  } else if (expected.dump() != actual.dump()) {
    differences.push_back(path + " is " + actual.dump() + ", expected " +
                          expected.dump());
  }
}

class Parity : public testing::TestWithParam<std::string> {};

TEST_P(Parity, ComposesAsHydraDoes) {
  Request request;
  request.recipe = GetParam();
  request.recipe_path = {RecipeFolder()};
  request.overrides = OverridesOf(GetParam());
  request.resolvers.roboflow_classes = {{"d", 7}};
  Problems problems;
  const auto composed = Compose(request, problems);
  ASSERT_TRUE(composed) << FormatProblems(problems);

  std::ifstream file(std::string(kComposed) + "/" + GetParam() + ".json");
  std::vector<std::string> differences;
  Compare(Json::parse(file), Json(composed->recipe.ToJson()), "", differences);
  EXPECT_EQ(differences, std::vector<std::string>());
}

TEST(ParityTestdata, HasAllRecipes) { EXPECT_EQ(Recipes().size(), 51u); }

INSTANTIATE_TEST_SUITE_P(SuperGradients, Parity, testing::ValuesIn(Recipes()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace slipway::recipe
