#include "plugins/vision_classification/datasets/datasets.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/recipe/yaml.h"

namespace slipway::vision_classification {
namespace {

class DatasetsTest : public testing::Test {
 protected:
  DatasetsTest() { RegisterDatasets(components_); }

  std::unique_ptr<data::Dataset> Build(const std::string& name,
                                       const std::string& params) {
    problems_.clear();
    const recipe::Node node =
        recipe::ParseYaml(params, "r.yaml", problems_).value();
    const recipe::Node recipe;
    return components_.datasets.Find(name)->create(
        BuildArgs{node, recipe, components_, problems_});
  }

  Components components_;
  Problems problems_;
};

TEST_F(DatasetsTest, AreRegisteredUnderTheirLoadersNames) {
  EXPECT_EQ(
      components_.datasets.names(),
      (std::vector<std::string>{
          "Digits", "digits_train", "digits_val", "Cifar10", "cifar10_train",
          "cifar10_val", "Cifar100", "cifar100_train", "cifar100_val",
          "ImageNetDataset", "imagenet_train", "imagenet_val"}));
}

TEST_F(DatasetsTest, HaveDefaultsOfEachSplit) {
  for (const std::string name : {"digits", "cifar10", "cifar100"}) {
    const DatasetEntry& train = *components_.datasets.Find(name + "_train");
    const DatasetEntry& valid = *components_.datasets.Find(name + "_val");
    EXPECT_TRUE(train.dataset_defaults.Find("train")->AsBool());
    EXPECT_FALSE(valid.dataset_defaults.Find("train")->AsBool());
    EXPECT_TRUE(train.loader_defaults.Find("shuffle")->AsBool());
    EXPECT_EQ(valid.loader_defaults.Find("shuffle"), nullptr);
    for (const DatasetEntry* entry : {&train, &valid}) {
      EXPECT_FALSE(entry->dataset_defaults.Find("transforms")->items().empty());
      EXPECT_EQ(entry->dataset_defaults.mark().file,
                "recipes/dataset_params/" + name + "_dataset_params.yaml");
    }
  }
}

TEST_F(DatasetsTest, BuildDigits) {
  EXPECT_EQ(Build("digits_train", "{train: true}")->size(), 1437);
  EXPECT_EQ(Build("Digits", "{train: false, channels: 3}")->size(), 360);
}

TEST_F(DatasetsTest, HaveSuperGradientsDefaultsForImageNet) {
  const DatasetEntry& train = *components_.datasets.Find("imagenet_train");
  const DatasetEntry& valid = *components_.datasets.Find("imagenet_val");
  EXPECT_EQ(train.dataset_defaults.Find("root")->AsString(),
            "/data/Imagenet/train");
  EXPECT_EQ(train.loader_defaults.Find("batch_size")->AsInt(), 64);
  EXPECT_EQ(valid.loader_defaults.Find("batch_size")->AsInt(), 200);
  for (const DatasetEntry* entry : {&train, &valid}) {
    const recipe::Node& last =
        entry->dataset_defaults.Find("transforms")->items().back();
    const recipe::Node* mean = last.FindPath("Normalize.mean");
    ASSERT_NE(mean, nullptr);
    EXPECT_EQ(mean->items()[2].AsDouble(), 0.406);
  }
}

TEST_F(DatasetsTest, SayWhereImageNetIsNot) {
  EXPECT_EQ(Build("imagenet_train", "{root: /no/such, decode: fats}"), nullptr);
  EXPECT_EQ(FormatProblems(problems_),
            R"(error: "decode" of data set ImageNetDataset is "fats"
  detail: expected one of exact, fast, found text "fats"
  where:  r.yaml:1:26
  hint:   did you mean "fast"?
error: there is no folder "/no/such"
  where:  r.yaml:1:8
)");
}

TEST_F(DatasetsTest, ReportAllThatIsWrong) {
  EXPECT_EQ(Build("digits_train", "{channel: 3, channels: 2}"), nullptr);
  EXPECT_EQ(FormatProblems(problems_),
            R"(error: "channels" of data set Digits is 2
  where:  r.yaml:1:24
  hint:   1 is grey, 3 is for models that take colours
error: unknown parameter "channel" of data set Digits
  where:  r.yaml:1:2
  hint:   did you mean "channels"?
)");
  EXPECT_EQ(Build("cifar100_val", "{train: no, root: /no/such/folder}"),
            nullptr);
  EXPECT_EQ(
      FormatProblems(problems_),
      R"(error: CIFAR-100 is not at "/no/such/folder": expected test.bin )"
      R"(in it or in its folder cifar-100-binary, missing all of them; )"
      R"(unpack the "binary version" of )"
      R"(https://www.cs.toronto.edu/~kriz/cifar.html there
  where:  r.yaml:1:19
)");
  EXPECT_EQ(Build("cifar10_val", "{train: no}"), nullptr);
  EXPECT_EQ(FormatProblems(problems_),
            R"(error: data set CIFAR-10 needs a value for "root"
  where:  r.yaml:1:1
)");
}

}  // namespace
}  // namespace slipway::vision_classification
