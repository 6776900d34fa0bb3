#include "plugins/syncbn/syncbn.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/full.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/training_state.h"

namespace slipway::syncbn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::unique_ptr<nn::Module> Net() {
  return nn::Sequential(
      nn::Conv2d({.in = 3, .out = 4, .kernel = 1}), nn::BatchNorm2d(4),
      nn::Sequential(nn::Conv2d({.in = 4, .out = 2, .kernel = 1}),
                     nn::BatchNorm2d(2)));
}

// What the hook leaves of a model.
struct Transformed {
  Transformed(std::unique_ptr<nn::Module> net, int world_size)
      : model(std::move(net)) {
    state.model = model.get();
    state.world_size = world_size;
    state.report = [this](const Problem& problem) {
      messages.push_back(problem.message);
    };
    ModelContext context(state);
    SyncBn plugin;
    EXPECT_TRUE(plugin.TransformModel(context).ok());
  }

  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const auto& [path, module] : model->NamedModules()) {
      kinds.push_back(module->kind());
    }
    return kinds;
  }

  std::unique_ptr<nn::Module> model;
  TrainingState state;
  std::vector<std::string> messages;
};

std::vector<std::string> Names(const nn::Module& model) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.StateDict()) names.push_back(name);
  return names;
}

TEST(SyncBn, ReplacesEveryBatchNormAndKeepsNames) {
  const Transformed transformed(Net(), 2);
  EXPECT_THAT(transformed.Kinds(),
              ElementsAre("Sequential", "Conv2d", "SyncBatchNorm", "Sequential",
                          "Conv2d", "SyncBatchNorm"));
  EXPECT_EQ(Names(*transformed.model), Names(*Net()));
  EXPECT_THAT(transformed.messages, IsEmpty());
}

TEST(SyncBn, LeavesOneProcessAlone) {
  const Transformed transformed(Net(), 1);
  EXPECT_THAT(transformed.Kinds(),
              ElementsAre("Sequential", "Conv2d", "BatchNorm2d", "Sequential",
                          "Conv2d", "BatchNorm2d"));
}

TEST(SyncBn, SaysThatAModelWithoutBatchNormIsNotChanged) {
  const Transformed transformed(nn::Sequential(nn::Linear({.in = 2, .out = 2})),
                                2);
  EXPECT_THAT(transformed.messages, ElementsAre("sync_bn has no effect"));
}

// The replaced layers are those that run: both ranks normalise by one batch.
TEST(SyncBn, ChangesWhatRuns) {
  const auto said =
      Said(RunRanks(2, [](dist::ProcessGroup& group, std::ostream& out) {
        const Transformed transformed(nn::Sequential(nn::BatchNorm2d(1)), 2);
        const at::Tensor x = at::full({1, 1, 1, 2}, group.rank() + 1.0);
        const at::Tensor y = transformed.model->Run(x);
        out << (y[0][0][0][0].item().toDouble() > 0);
      }));
  EXPECT_THAT(said, ElementsAre("0", "1"));
}

}  // namespace
}  // namespace slipway::syncbn
