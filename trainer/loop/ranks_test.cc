#include <signal.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/train_ranks.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Everything(const Trained& trained) {
  return absl::StrCat(trained.Losses(), " ", trained.Weights(), " ",
                      trained.Values("train"), " ", trained.Values("valid"),
                      " ", trained.result.samples);
}

// --- one training ------------------------------------------------------------

TEST(Ranks, TrainAsOneProcessOnTheJoinedBatch) {
  Setting setting;
  setting.epochs = 2;
  setting.valid_samples = 7;
  const auto two = TrainRanks(2, setting, Everything);
  EXPECT_EQ(two[0], two[1]);
  setting.batch = 8;
  ExpectNear(two[0], TrainRanks(1, setting, Everything)[0]);
}

TEST(Ranks, AccumulateAsOneProcessDoes) {
  Setting setting;
  setting.samples = 40;
  setting.hyperparams = {{"batch_accumulate", Node::Int(2)}};
  const auto two = TrainRanks(2, setting, Everything);
  EXPECT_EQ(two[0], two[1]);
  setting.batch = 8;
  ExpectNear(two[0], TrainRanks(1, setting, Everything)[0]);
}

TEST(Ranks, ValidateEverySampleOnce) {
  for (const int64_t samples : {1, 2, 9, 11}) {
    Setting setting;
    setting.valid_samples = samples;
    const auto values = [](const Trained& t) { return t.Values("valid"); };
    const auto three = TrainRanks(3, setting, values);
    EXPECT_THAT(three, Each(three[0]));
    setting.batch = 12;
    ExpectNear(three[0], TrainRanks(1, setting, values)[0]);
  }
}

TEST(Ranks, BeginWithRankZerosModel) {
  Setting setting;
  setting.before = [](int rank, Trainer& trainer) {
    const at::NoGradGuard no_gradients;
    for (auto& [name, tensor] : trainer.model().NamedParameters()) {
      tensor.fill_(rank + 1);
    }
  };
  const auto weights = TrainRanks(
      3, setting, [](const Trained& trained) { return trained.Weights(); });
  EXPECT_THAT(weights, Each(weights[0]));
  setting.batch = 12;
  ExpectNear(weights[0], TrainRanks(1, setting, [](const Trained& trained) {
               return trained.Weights();
             })[0]);
}

TEST(Ranks, TakeTheSameBestValue) {
  Setting setting;
  setting.epochs = 3;
  setting.valid_samples = 9;
  const auto best = TrainRanks(2, setting, [](const Trained& trained) {
    const BestValue& best = *trained.result.best;
    return absl::StrCat(best.name, " ", best.value, " ", best.epoch, " of ",
                        trained.result.world_size);
  });
  EXPECT_EQ(best[0], best[1]);
  EXPECT_THAT(best[0], AllOf(StartsWith("Accuracy"), HasSubstr(" of 2")));
}

TEST(Ranks, RefuseToTrainDifferentThings) {
  Setting setting;
  setting.before = [](int rank, Trainer& trainer) {
    if (rank != 1) return;
    auto replaced = trainer.model().Replace(
        "0", nn::Linear({.in = 2, .out = 2, .bias = false}));
    if (!replaced.ok()) throw std::runtime_error("not replaced");
  };
  setting.model = [] {
    return nn::Sequential(nn::Linear({.in = 2, .out = 2}));
  };
  const auto ends = TrainRanks(2, setting, [](const Trained& trained) {
    return absl::StrCat(trained.End(), trained.result.error->detail);
  });
  EXPECT_THAT(ends, Each(AllOf(StartsWith("error 1 after 0 steps"),
                               HasSubstr("0.bias"), HasSubstr("on rank 1"))));
}

TEST(Ranks, NeedALoaderOfTheirOwnShare) {
  const auto said =
      Said(RunRanks(2, [](dist::ProcessGroup& group, std::ostream& out) {
        TrainerOptions options = Options(1);
        options.group = &group;
        Problems problems;
        const auto trainer =
            Trainer::Create(LinearParts(8, 4), std::move(options), problems);
        out << (trainer == nullptr) << FormatProblems(problems);
        // None goes while others still connect.
        if (!group.Barrier().ok()) std::abort();
      }));
  EXPECT_THAT(said[0], HasSubstr("has the share of rank 0 of 1, and this is "
                                 "rank 0 of 2"));
}

// --- buffers -----------------------------------------------------------------

std::unique_ptr<nn::Module> NormNet() {
  return nn::Sequential(nn::BatchNorm1d({.features = 2}),
                        nn::Linear({.in = 2, .out = 2}));
}

// The running mean's first value after a step in which rank r's samples are all
// r + 1.
std::vector<std::string> RunningMeans(const Extra& hyperparams) {
  Setting setting;
  setting.samples = 8;
  setting.model = NormNet;
  setting.hyperparams = hyperparams;
  setting.fault = [](int rank) {
    return [rank](int64_t, data::Sample& sample) {
      sample.image.fill_(rank + 1);
      return absl::OkStatus();
    };
  };
  return TrainRanks(2, setting, [](const Trained& trained) {
    for (const auto& [name, tensor] : trained.trainer->model().NamedBuffers()) {
      if (name != "0.running_mean") continue;
      return absl::StrFormat("%.3f", tensor[0].item().toDouble());
    }
    return std::string("none");
  });
}

TEST(Ranks, TakeRankZerosBuffers) {
  EXPECT_THAT(RunningMeans({}), Each("0.100"));
}

TEST(Ranks, TakeTheMeanOfTheirBuffersIfTheRecipeSaysSo) {
  EXPECT_THAT(RunningMeans({{"sync_buffers", Node::String("reduce")}}),
              Each("0.150"));
}

// --- what one rank asks for --------------------------------------------------

TEST(Ranks, SkipTogetherWhatOneOfThemSkips) {
  Setting setting;
  setting.hooks = [](int rank, Probe& probe, Trainer*&) {
    probe.step_begin = [rank](BatchContext& context) {
      if (rank == 1 && context.batch() == 2) {
        context.control().SkipStep("no good");
      }
      return absl::OkStatus();
    };
  };
  const auto said = TrainRanks(2, setting, [](const Trained& trained) {
    const EventReport& event = trained.heard.events.at(0);
    return absl::StrCat(trained.End(), ", ", event.name, " at ", event.step,
                        ": ", event.detail["reason"].get<std::string>(), ". ",
                        trained.Weights());
  });
  EXPECT_THAT(said[0],
              StartsWith("done 0 after 5 steps, skip_step at 2: rank 1: no "
                         "good. "));
  EXPECT_EQ(said[0].substr(said[0].find(". ")),
            said[1].substr(said[1].find(". ")));
}

// Makes the samples of rank 1's third batch not finite.
Fault Spoilt(int rank) {
  return
      [rank, seen = std::make_shared<int>(0)](int64_t, data::Sample& sample) {
        const int batch = (*seen)++ / 4;
        if (rank == 1 && batch == 2) {
          sample.image.fill_(std::numeric_limits<double>::quiet_NaN());
        }
        return absl::OkStatus();
      };
}

std::vector<std::string> TrainSpoilt(const std::string& policy) {
  Setting setting;
  setting.model = NormNet;
  setting.fault = Spoilt;
  setting.hyperparams = {{"non_finite", Node::String(policy)},
                         {"sync_buffers", Node::String("reduce")}};
  return TrainRanks(2, setting, [](const Trained& trained) {
    const EventReport& event = trained.heard.events.at(0);
    return absl::StrCat(trained.End(), ", ", event.name, " at ", event.step,
                        ": ", event.detail.dump(), trained.Weights());
  });
}

TEST(Ranks, SkipTogetherWhatIsNotFiniteOnOneOfThem) {
  const auto said = TrainSpoilt("skip");
  EXPECT_THAT(said[0], StartsWith("done 0 after 5 steps, skip_step at 2: "
                                  "{\"reason\":\"rank 1: the loss is nan\"}"));
  EXPECT_EQ(said[0], said[1]);
  EXPECT_THAT(said[0], Not(HasSubstr(" nan ")));
}

TEST(Ranks, StopTogetherWhereOneIsNotFinite) {
  const auto said = TrainSpoilt("stop");
  EXPECT_THAT(said[0], AllOf(StartsWith("non_finite 1 after 2 steps, "
                                        "non_finite at 2"),
                             HasSubstr("rank 1: the loss is nan")));
  EXPECT_EQ(said[0], said[1]);
}

TEST(Ranks, TakeBackTogetherWhatIsNotFiniteOnOneOfThem) {
  const auto said = TrainSpoilt("rollback");
  EXPECT_THAT(said[0], AllOf(StartsWith("done 0 after 5 steps, rollback at 2"),
                             HasSubstr("rank 1: the loss is nan")));
  EXPECT_EQ(said[0], said[1]);
}

TEST(Ranks, LookForSpikesInTheLossOfAll) {
  Setting setting;
  setting.samples = 96;
  setting.fault = [](int rank) {
    return
        [rank, seen = std::make_shared<int>(0)](int64_t, data::Sample& sample) {
          if (rank == 1 && (*seen)++ / 4 == 10) sample.image.mul_(-1e4);
          return absl::OkStatus();
        };
  };
  Node rule = Node::Map();
  rule.Set("window", Node::Int(5));
  setting.hyperparams = {{"loss_spike", std::move(rule)}};
  const auto said = TrainRanks(2, setting, [](const Trained& trained) {
    return absl::StrCat(absl::StrJoin(trained.heard.EventNames(), " "), " ",
                        trained.End(), trained.Weights());
  });
  EXPECT_THAT(said[0], StartsWith("rollback done 0 after 11 steps"));
  EXPECT_EQ(said[0], said[1]);
}

// Does `act` on rank 1 after its third step.
Setting AfterThreeStepsOfRankOne(
    const std::function<void(StepContext& context, Trainer& trainer)>& act) {
  Setting setting;
  setting.hooks = [act](int rank, Probe& probe, Trainer*& trainer) {
    probe.after_optimizer = [rank, act, &trainer](StepContext& context) {
      if (rank == 1 && context.step() == 3) act(context, *trainer);
      return absl::OkStatus();
    };
  };
  return setting;
}

TEST(Ranks, StopTogetherOnASignalToOne) {
  for (const auto& [signal, end] : std::vector<std::pair<int, std::string>>{
           {SIGTERM, "signal 143"}, {SIGINT, "signal 130"}}) {
    Setting setting = AfterThreeStepsOfRankOne(
        [signal = signal](StepContext&, Trainer& trainer) {
          trainer.stop_signal() = signal;
        });
    setting.folder = EmptyRunFolder();
    EXPECT_THAT(TrainRanks(2, setting, End), Each(end + " after 4 steps"));
    EXPECT_EQ(ReadCheckpoint(setting.folder + "/ckpt_latest.pth")->step, 4);
  }
}

TEST(Ranks, StopTogetherIfAHookOfOneAsks) {
  const Setting setting =
      AfterThreeStepsOfRankOne([](StepContext& context, Trainer&) {
        context.control().RequestStop("enough");
      });
  EXPECT_THAT(TrainRanks(2, setting, End), Each("early_stop 0 after 4 steps"));
}

TEST(Ranks, StopTogetherAfterTheEpochInWhichAHookOfOneAsks) {
  Setting setting;
  setting.epochs = 3;
  setting.hooks = [](int rank, Probe& probe, Trainer*&) {
    probe.epoch_end = [rank](FitContext& context) {
      if (rank == 1) context.control().RequestStop("enough");
      return absl::OkStatus();
    };
  };
  EXPECT_THAT(TrainRanks(2, setting, End), Each("early_stop 0 after 6 steps"));
}

TEST(Ranks, SaveAndEvaluateTogetherIfAHookOfOneAsks) {
  Setting setting =
      AfterThreeStepsOfRankOne([](StepContext& context, Trainer&) {
        context.control().RequestSave();
        context.control().RequestEvaluate();
      });
  setting.folder = EmptyRunFolder();
  setting.valid_samples = 8;
  const auto said = TrainRanks(2, setting, [](const Trained& trained) {
    std::string text;
    for (const EpochReport& epoch : trained.heard.epochs) {
      if (epoch.split == "valid") absl::StrAppend(&text, epoch.step, " ");
    }
    for (const EventReport& event : trained.heard.events) {
      absl::StrAppend(&text, event.detail["file"].get<std::string>(), "@",
                      event.step, " ");
    }
    return text;
  });
  EXPECT_THAT(said, Each("4 6 ckpt_best.pth@4 ckpt_latest.pth@4 "
                         "ckpt_best.pth@6 ckpt_latest.pth@6 "));
}

}  // namespace
}  // namespace slipway::loop
