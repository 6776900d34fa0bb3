#include "trainer/loop/state_hash.h"

#include <functional>
#include <limits>
#include <set>

#include "ATen/ops/arange.h"
#include "ATen/ops/full.h"
#include "ATen/ops/tensor.h"
#include "ATen/ops/zeros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Checkpoint Example() {
  Checkpoint state;
  state.net = {{"weight", at::arange(6, at::kFloat).view({2, 3})},
               {"steps", at::full({}, 7, at::kLong)}};
  state.extra_nets = {{"ema_net", {{"weight", at::zeros({2, 3})}}}};
  state.optimizer = {{"weight", {{"momentum_buffer", at::zeros({2, 3})}}}};
  state.scaler = {{"scale", at::full({}, 65536.0)}};
  state.epoch = 2;
  state.step = 12;
  state.sampler = {.seed = 42, .epoch = 2, .samples_done = 64};
  state.rng = {"abc"};
  state.meters = {at::tensor({3.0, 4.0})};
  state.metrics["train"]["Accuracy"] = 0.5;
  state.best = BestResult{"Accuracy", 0.5, 1};
  state.loop.train_loss = {.samples = 64, .sums = {{"", 1.5}}};
  PluginState plugin;
  plugin.values = recipe::Node::Map();
  plugin.values.Set("updates", recipe::Node::Int(12));
  plugin.tensors = {{"memory", at::zeros({2})}};
  state.plugins = {{"ema", {.version = 1, .state = plugin}}};
  return state;
}

TEST(StateHash, HasAPartForEverything) {
  std::vector<std::string> names;
  std::set<std::string> digests;
  for (const auto& [name, digest] : HashState(Example())) {
    names.push_back(name);
    EXPECT_EQ(digest.size(), 32u) << name;
  }
  EXPECT_THAT(names,
              ElementsAre("net/weight", "net/steps", "ema_net/weight",
                          "optimizer/weight/momentum_buffer", "scaler/scale",
                          "meters/0", "plugins/ema/memory", "plugins/ema",
                          "rng/0", "place", "results"));
}

TEST(StateHash, IsTheSameForTheSameState) {
  EXPECT_THAT(Differences(HashState(Example()), HashState(Example())),
              IsEmpty());
}

TEST(StateHash, LeavesOutWhatIsOnlyTold) {
  Checkpoint told = Example();
  told.metrics["train"]["Accuracy"] = 0.6;
  EXPECT_THAT(Differences(HashState(Example()), HashState(told)), IsEmpty());
}

struct Change {
  const char* part;
  std::function<void(Checkpoint&)> make;
};

TEST(StateHash, ShowsEachChange) {
  const Change changes[] = {
      {"net/weight",
       [](Checkpoint& s) {
         // The smallest that a float can change by.
         s.net[0].second[0][1] =
             1 + static_cast<double>(std::numeric_limits<float>::epsilon());
       }},
      {"net/steps", [](Checkpoint& s) { s.net[1].second.add_(1); }},
      {"ema_net/weight",
       [](Checkpoint& s) { s.extra_nets[0].second[0].second.neg_(); }},
      {"optimizer/weight/momentum_buffer",
       [](Checkpoint& s) { s.optimizer[0].second[0].second[1][1] = 1e-30; }},
      {"scaler/scale", [](Checkpoint& s) { s.scaler[0].second.div_(2); }},
      {"meters/0", [](Checkpoint& s) { s.meters[0].add_(1); }},
      {"plugins/ema/memory",
       [](Checkpoint& s) {
         s.plugins[0].second.state.tensors[0].second.add_(1);
       }},
      {"plugins/ema",
       [](Checkpoint& s) {
         s.plugins[0].second.state.values.Set("updates", recipe::Node::Int(13));
       }},
      {"rng/0", [](Checkpoint& s) { s.rng[0] = "abd"; }},
      {"place", [](Checkpoint& s) { s.sampler.samples_done = 0; }},
      {"results", [](Checkpoint& s) { s.metrics["valid"]["Accuracy"] = 0.6; }},
      {"results", [](Checkpoint& s) { s.best->epoch = 0; }},
      {"results", [](Checkpoint& s) { s.loop.train_loss.sums[0].second = 1; }},
  };
  const StateHashes before = HashState(Example());
  for (const Change& change : changes) {
    Checkpoint changed = Example();
    change.make(changed);
    EXPECT_THAT(Differences(before, HashState(changed)),
                ElementsAre(change.part));
  }
}

TEST(StateHash, LeavesOutWhatIsOfNoTraining) {
  Checkpoint other = Example();
  other.loop.seconds = 99;
  other.recipe_yaml = "num_workers: 4";
  EXPECT_THAT(Differences(HashState(Example()), HashState(other)), IsEmpty());
}

TEST(StateHash, NamesPartsThatOnlyOneHas) {
  Checkpoint fewer = Example(), more = Example();
  fewer.optimizer.clear();
  more.net.emplace_back("bias", at::zeros({2}));
  EXPECT_THAT(Differences(HashState(fewer), HashState(more)),
              ElementsAre("net/bias", "optimizer/weight/momentum_buffer"));
}

TEST(StateHash, TellsTypesShapesAndSignsApart) {
  const at::Tensor zeros[] = {
      at::zeros({4}),
      at::zeros({2, 2}),
      at::zeros({4}, at::kInt),
      at::zeros({4}).neg(),
      at::zeros({8}, at::kHalf),
      at::zeros({16}, at::kByte),
      at::Tensor(),
  };
  std::set<std::string> digests;
  for (const at::Tensor& tensor : zeros) digests.insert(HashTensor(tensor));
  EXPECT_EQ(digests.size(), std::size(zeros));
}

TEST(StateHash, DoesNotDependOnTheLayoutInMemory) {
  const at::Tensor image = at::arange(48, at::kFloat).view({2, 3, 2, 4});
  const at::Tensor wide = at::arange(8, at::kFloat).view({2, 4});
  EXPECT_EQ(HashTensor(image),
            HashTensor(image.contiguous(at::MemoryFormat::ChannelsLast)));
  EXPECT_EQ(HashTensor(wide.t()), HashTensor(wide.t().contiguous()));
  EXPECT_EQ(HashTensor(image.select(0, 1)),
            HashTensor(image.select(0, 1).clone()));
}

}  // namespace
}  // namespace slipway::loop
