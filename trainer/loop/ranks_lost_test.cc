// Ranks that wait, are lost or go on in other numbers.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/train_ranks.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

// --- signals where data do not come ------------------------------------------

// What the loader's thread of a rank knows of its training.
struct Watched {
  std::atomic<int>* signal = nullptr;
  std::atomic<int64_t> batches = 0;  // that were computed
};

// Sample `index` of rank 1 does not come, and once all `before` batches before
// it are computed the rank gets SIGTERM.
Fault Stalled(int rank, int64_t index, int64_t before, Watched& watched) {
  return [=, &watched](int64_t i, data::Sample&) {
    if (rank != 1 || i != index) return absl::OkStatus();
    while (watched.batches < before) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    *watched.signal = SIGTERM;
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return absl::OkStatus();
  };
}

std::vector<std::string> TrainStalled(Setting& setting, bool in_validation,
                                      int64_t index, int64_t before) {
  static Watched watched;
  // Several, for batches are not always begun in order: those before the one
  // that does not come are made by others.
  setting.num_workers = 4;
  setting.shuffle = false;
  setting.before = [](int, Trainer& trainer) {
    watched.signal = &trainer.stop_signal();
  };
  setting.hooks = [in_validation](int, Probe& probe, Trainer*&) {
    if (in_validation) {
      probe.eval_forward = [](EvalContext&) {
        ++watched.batches;
        return absl::OkStatus();
      };
    } else {
      probe.before_backward = [](GradientContext&) {
        ++watched.batches;
        return absl::OkStatus();
      };
    }
  };
  const auto fault = [=](int rank) {
    return Stalled(rank, index, before, watched);
  };
  (in_validation ? setting.valid_fault : setting.fault) = fault;
  setting.folder = EmptyRunFolder();
  return TrainRanks(2, setting, End);
}

TEST(Ranks, StopTogetherWhereOneWaitsForDataAndGetsASignal) {
  // In its third batch.
  Setting setting;
  EXPECT_THAT(TrainStalled(setting, false, 19, 2),
              Each("signal 143 after 2 steps"));
}

TEST(Ranks, StopTogetherInTheMiddleOfAWindow) {
  Setting setting;
  setting.samples = 96;
  setting.hyperparams = {{"batch_accumulate", Node::Int(3)}};
  // In its fifth batch.
  EXPECT_THAT(TrainStalled(setting, false, 35, 4),
              Each("signal 143 after 1 steps"));
  const auto latest = ReadCheckpoint(setting.folder + "/ckpt_latest.pth");
  EXPECT_EQ(latest->loop.micro, 1);
}

TEST(Ranks, StopTogetherInAnEvaluation) {
  Setting setting;
  setting.valid_samples = 32;
  const auto ends = TrainStalled(setting, true, 21, 2);
  EXPECT_THAT(ends, Each("signal 143 after 6 steps"));
}

TEST(Ranks, WaitForOneWhoseDataAreLate) {
  Setting setting;
  setting.num_workers = 1;
  setting.fault = [](int rank) {
    return [rank](int64_t index, data::Sample&) {
      if (rank == 1 && index % 5 == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      return absl::OkStatus();
    };
  };
  EXPECT_THAT(TrainRanks(2, setting, End), Each("done 0 after 6 steps"));
}

// --- a rank that is lost -----------------------------------------------------

std::string Why(const Trained& trained) {
  const Problem& error = *trained.result.error;
  return absl::StrCat(trained.End(), "; ",
                      absl::StrJoin(trained.heard.EventNames(), " "), "; ",
                      error.kind, ": ", error.message, ": ", error.detail);
}

TEST(Ranks, NameARankThatWasKilled) {
  for (const int world_size : {2, 3}) {
    Setting setting;
    setting.hooks = [](int rank, Probe& probe, Trainer*&) {
      probe.after_optimizer = [rank](StepContext& context) {
        if (rank == 1 && context.step() == 3) raise(SIGKILL);
        return absl::OkStatus();
      };
    };
    const auto ranks = RunTraining(world_size, setting, Why);
    EXPECT_EQ(ranks[1].exit_code, 128 + SIGKILL);
    for (const int rank : {0, world_size - 1}) {
      if (rank == 1) continue;
      EXPECT_THAT(ranks[rank].said,
                  AllOf(StartsWith("peer_lost 1 after 3 steps; peer_lost; "
                                   "peer: lost rank 1 in epoch 0"),
                        HasSubstr("rank 1 of")));
      EXPECT_LT(ranks[rank].seconds, 20);
    }
  }
}

TEST(Ranks, HearWhyOneOfThemFails) {
  Setting setting;
  setting.fault = [](int rank) {
    return [rank](int64_t index, data::Sample&) {
      return rank == 1 && index == 20 ? absl::DataLossError("20.jpg is damaged")
                                      : absl::OkStatus();
    };
  };
  const auto said = TrainRanks(2, setting, Why);
  EXPECT_THAT(said[0],
              AllOf(StartsWith("peer_lost 1"),
                    HasSubstr("peer: lost rank 1 in epoch 0"),
                    HasSubstr("rank 1: "), HasSubstr("20.jpg is damaged")));
  EXPECT_THAT(said[1], AllOf(StartsWith("error 1"), HasSubstr("; data: "),
                             HasSubstr("20.jpg is damaged")));
}

TEST(Ranks, HearOfAHookThatFailsOnOneOfThem) {
  Setting setting;
  setting.hooks = [](int rank, Probe& probe, Trainer*&) {
    probe.step_begin = [rank](BatchContext& context) {
      return rank == 0 && context.batch() == 2 ? absl::InternalError("broken")
                                               : absl::OkStatus();
    };
  };
  const auto said = TrainRanks(2, setting, Why);
  EXPECT_THAT(said[0], AllOf(StartsWith("error 1 after 2 steps"),
                             HasSubstr("hook: "), HasSubstr("broken")));
  EXPECT_THAT(said[1], AllOf(StartsWith("peer_lost 1 after 2 steps"),
                             HasSubstr("rank 0: "), HasSubstr("broken")));
}

TEST(Ranks, FindOutThatAHookHasSkippedAStepOfOne) {
  Setting setting;
  setting.hooks = [](int rank, Probe& probe, Trainer*&) {
    probe.before_optimizer = [rank](GradientContext& context) {
      if (rank == 1 && context.batch() == 2) {
        context.control().SkipStep("mine alone");
      }
      return absl::OkStatus();
    };
  };
  EXPECT_THAT(TrainRanks(2, setting, Why),
              Each(HasSubstr("the ranks have taken different numbers of "
                             "steps")));
}

// --- files -------------------------------------------------------------------

TEST(Ranks, SaveOnceWithEveryRanksGenerator) {
  Setting setting;
  setting.folder = EmptyRunFolder();
  setting.valid_samples = 8;
  const auto calls = TrainRanks(2, setting, [](const Trained& trained) {
    std::string text;
    for (const std::string& call : trained.calls) {
      if (call == "BeforeSave" || call == "AfterSave") text += call + " ";
    }
    return text;
  });
  EXPECT_EQ(calls[0], calls[1]);
  EXPECT_THAT(calls[0], HasSubstr("BeforeSave AfterSave "));
  const auto latest = ReadCheckpoint(setting.folder + "/ckpt_latest.pth");
  ASSERT_TRUE(latest.ok()) << latest.status();
  EXPECT_EQ(latest->world_size, 2);
  ASSERT_EQ(latest->rng.size(), 2u);
  EXPECT_NE(latest->rng[0], latest->rng[1]);
}

// Losses of all steps where the training is cut after some, and goes on with
// another number of ranks.
std::string LossesOfTwoParts(int first_ranks, int64_t first_batch,
                             int second_ranks, int64_t second_batch,
                             const Extra& hyperparams, int64_t stop_at) {
  Setting setting;
  setting.samples = 96;
  setting.epochs = 2;
  setting.folder =
      EmptyRunFolder(absl::StrCat(first_ranks, "to", second_ranks));
  setting.hyperparams = hyperparams;
  setting.batch = first_batch;
  Setting first = setting;
  first.hooks = [stop_at](int, Probe& probe, Trainer*&) {
    probe.step_begin = [stop_at](BatchContext& context) {
      // Heard at the end of this step.
      if (context.step() + 1 == stop_at) {
        context.control().RequestStop("for the test");
      }
      return absl::OkStatus();
    };
  };
  const auto losses = [](const Trained& trained) {
    return absl::StrCat(trained.Losses(), " ", trained.Values("train"));
  };
  const auto one = TrainRanks(first_ranks, first, [](const Trained& trained) {
    return trained.Losses();
  });
  setting.resumes = true;
  setting.batch = second_batch;
  const auto two = TrainRanks(second_ranks, setting, losses);
  return absl::StrCat(one[0], " ", two[0]);
}

TEST(Ranks, GoOnWithAnotherNumberOfRanks) {
  for (const Extra& hyperparams :
       {Extra{}, Extra{{"batch_accumulate", Node::Int(3)}}}) {
    for (const int64_t stop_at : {3, 5}) {
      const std::string whole =
          LossesOfTwoParts(1, 8, 1, 8, hyperparams, stop_at);
      ExpectNear(LossesOfTwoParts(2, 4, 1, 8, hyperparams, stop_at), whole);
      ExpectNear(LossesOfTwoParts(1, 8, 2, 4, hyperparams, stop_at), whole);
      ExpectNear(LossesOfTwoParts(2, 4, 4, 2, hyperparams, stop_at), whole);
    }
  }
}

TEST(Ranks, SayWhereNoBatchOfTheNewSizeBegins) {
  Setting setting;
  setting.samples = 96;
  setting.folder = EmptyRunFolder();
  setting.hooks = [](int, Probe& probe, Trainer*&) {
    probe.step_begin = [](BatchContext& context) {
      if (context.step() == 0) context.control().RequestStop("for the test");
      return absl::OkStatus();
    };
  };
  TrainRanks(2, setting, End);
  setting.resumes = true;
  // Whoever refuses first is gone for the others.
  std::vector<std::string> said;
  for (const Ended& rank : RunTraining(3, setting, End)) {
    said.push_back(rank.said);
  }
  EXPECT_THAT(said, Contains(HasSubstr("where no batch of 12 (3 ranks of 4) "
                                       "begins")));
}

}  // namespace
}  // namespace slipway::loop
