// When the manifest claims loss scaling, and what it warns of.
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/yaml.h"

namespace slipway::amp {
namespace {

struct Case {
  std::string name;
  std::string config;  // of the plugin
  std::string device;
  bool cpu_bf16;
  std::string expected;
};

// Whether loss scaling is claimed, and each warning's beginning.
std::string Planned(const Case& test) {
  plan::Environment here;
  here.device = test.device;
  here.cpu_bf16 = test.cpu_bf16;
  Problems problems;
  const auto manifest = plan::ReadManifest("plugins/amp/plugin.yaml", problems);
  const auto recipe = recipe::ParseYaml(
      absl::StrCat("training_hyperparams: {mixed_precision: True}\n"
                   "plugins: {amp: ",
                   test.config, "}"),
      "recipe.yaml", problems);
  if (!manifest || !recipe) return FormatProblems(problems);
  const auto plan = plan::ResolvePlan({*manifest}, *recipe, here, problems);
  if (!plan) return FormatProblems(problems);
  std::string text = plan->claims.count("backward_scale") > 0 ? "scales" : "";
  for (const Problem& problem : plan->problems) {
    absl::StrAppend(&text, "; ",
                    problem.message.substr(0, problem.message.find(',')));
  }
  return text;
}

class Manifest : public testing::TestWithParam<Case> {};

TEST_P(Manifest, WarnsOnceOfWhatItCannotDo) {
  EXPECT_EQ(Planned(GetParam()), GetParam().expected);
}

constexpr char kOff[] = "; plugin \"amp\": this CPU has no bf16 instructions";
constexpr char kSlow[] = "; plugin \"amp\": CPUs compute fp16 slowly";

INSTANTIATE_TEST_SUITE_P(
    Cases, Manifest,
    testing::Values(Case{"bf16_cpu", "{}", "cpu", true, ""},
                    Case{"other_cpu", "{}", "cpu", false, kOff},
                    Case{"forced", "{force: true}", "cpu", false, ""},
                    Case{"fp16", "{dtype: fp16}", "cpu", true,
                         absl::StrCat("scales", kSlow)},
                    Case{"fp16_on_other_cpu", "{dtype: fp16}", "cpu", false,
                         absl::StrCat("scales", kOff)},
                    Case{"fp16_forced", "{dtype: fp16, force: true}", "cpu",
                         false, absl::StrCat("scales", kSlow)},
                    Case{"cuda", "{}", "cuda", false, "scales"},
                    Case{"bf16_on_cuda", "{dtype: bf16}", "cuda", false, ""}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace slipway::amp
