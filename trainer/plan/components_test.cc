#include "trainer/plan/components.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "models resnet18" of each use.
std::vector<std::string> UsesOf(const std::string& recipe) {
  std::vector<std::string> uses;
  for (const ComponentUse& use : ComponentsOf(MakeRecipe(recipe))) {
    uses.push_back(absl::StrCat(use.kind, " ", use.name));
  }
  return uses;
}

TEST(ComponentsOf, ReadsEveryPlaceThatNamesOne) {
  EXPECT_THAT(
      UsesOf(R"(
architecture: resnet18_cifar
train_dataloader: cifar10_train
val_dataloader: cifar10_val
dataset_params:
  train_dataset_params:
    transforms: [{RandomCrop: {size: 32}}, ToTensor]
  train_dataloader_params:
    collate_fn: DetectionCollateFN
    sampler: {RepeatAugSampler: {num_repeats: 3}}
  val_dataloader_params: {dataset: Mnist}
training_hyperparams:
  loss: CrossEntropyLoss
  optimizer: SGD
  lr_mode: CosineLRScheduler
  warmup_mode: LinearEpochLRWarmup
  train_metrics_list: [Accuracy, Top5]
  valid_metrics_list: [{IoU: {num_classes: 20}}]
  phase_callbacks: [{EarlyStop: {patience: 5}}]
  sg_logger: {postcard: {to: home}}
)"),
      ElementsAre(
          "models resnet18_cifar", "losses CrossEntropyLoss", "optimizers SGD",
          "schedules CosineLRScheduler", "metrics Accuracy", "metrics Top5",
          "metrics IoU", "callbacks EarlyStop", "reporters postcard",
          "datasets cifar10_train", "collates DetectionCollateFN",
          "samplers RepeatAugSampler", "transforms RandomCrop",
          "transforms ToTensor", "datasets cifar10_val", "datasets Mnist"));
}

TEST(ComponentsOf, TakesTheLastPartOfATarget) {
  EXPECT_THAT(UsesOf(R"(
training_hyperparams:
  loss: {_target_: super_gradients.training.losses.SSDLoss, alpha: 1}
  valid_metrics_list: [{_target_: Accuracy}]
)"),
              ElementsAre("losses SSDLoss", "metrics Accuracy"));
}

TEST(ComponentsOf, FindsNoneWhereNoneIsNamed) {
  EXPECT_THAT(UsesOf("{}"), IsEmpty());
  EXPECT_THAT(UsesOf(R"(
architecture: null
train_dataloader: ''
dataset_params: {train_dataset_params: {transforms: []}}
training_hyperparams: {loss: 3, optimizer: {}, lr_mode: {a: 1, b: 2}}
)"),
              IsEmpty());
}

TEST(ComponentsOf, TakesSuperGradientsReporterForTheTrainersOwn) {
  EXPECT_THAT(UsesOf("training_hyperparams: {sg_logger: base_sg_logger}"),
              IsEmpty());
}

TEST(ComponentsOf, KnowsWhereTheNamesStand) {
  const std::vector<ComponentUse> uses = ComponentsOf(
      MakeRecipe("architecture: net\ntraining_hyperparams:\n  loss: {A: {}}"));
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].where, (Mark{"recipe.yaml", 1, 15}));
  EXPECT_EQ(uses[1].where, (Mark{"recipe.yaml", 3, 10}));
}

}  // namespace
}  // namespace slipway::plan
