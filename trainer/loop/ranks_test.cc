// Trainings of several ranks, each a real process.
#include "tests/dist/ranks.h"

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/fixtures.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Extra = std::vector<std::pair<std::string, Node>>;
using Fault = std::function<absl::Status(int64_t index, data::Sample& sample)>;

// A training that ranks do together, and what a test changes of it. Functions
// get the rank.
struct Setting {
  int64_t samples = 48;
  int64_t valid_samples = 0;
  int64_t batch = 4;  // of a rank
  int64_t epochs = 1;
  int num_workers = 0;
  bool shuffle = true;
  Extra hyperparams = {};
  std::string folder = {};  // of files; empty: none
  bool resumes = false;     // from the latest checkpoint in `folder`
  std::function<std::unique_ptr<nn::Module>()> model = LinearNet;
  std::function<void(int rank, Trainer& trainer)> before = nullptr;
  std::function<void(int rank, Probe& probe, Trainer*& trainer)> hooks =
      nullptr;
  std::function<Fault(int rank)> fault = nullptr;
  std::function<Fault(int rank)> valid_fault = nullptr;
};

std::unique_ptr<data::Loader> Share(const Setting& setting, int64_t samples,
                                    const dist::ProcessGroup& group,
                                    const std::function<Fault(int)>& fault,
                                    bool evaluation) {
  data::LoaderParts parts;
  parts.dataset = Points(samples, fault ? fault(group.rank()) : nullptr);
  data::LoaderOptions options;
  options.batch_size = setting.batch;
  options.shuffle = setting.shuffle && !evaluation;
  options.num_workers = setting.num_workers;
  options.rank = group.rank();
  options.world_size = group.world_size();
  options.evaluation = evaluation;
  return std::make_unique<data::Loader>(std::move(parts), options);
}

// What a rank has come to.
struct Trained {
  RunResult result;
  Heard heard;
  std::vector<std::string> calls;
  std::unique_ptr<Trainer> trainer;

  std::string Weights() const {
    std::string text;
    for (const auto& [name, tensor] : trainer->model().StateDict()) {
      const at::Tensor values = tensor.detach().to(at::kDouble).reshape({-1});
      for (int64_t i = 0; i < values.numel(); ++i) {
        absl::StrAppendFormat(&text, "%.6f ", values[i].item().toDouble());
      }
    }
    return text;
  }
  std::string Losses() const {
    std::vector<std::string> losses;
    for (const StepReport& step : heard.steps) {
      losses.push_back(absl::StrFormat("%.5f", step.loss.value_or(-1)));
    }
    return absl::StrJoin(losses, " ");
  }
  std::string Values(const std::string& split) const {
    std::string text;
    for (const EpochReport& epoch : heard.epochs) {
      if (epoch.split != split) continue;
      for (const auto& [name, value] : epoch.metrics) {
        absl::StrAppendFormat(&text, "%s %.6f ", name, value);
      }
    }
    return text;
  }
  std::string End() const {
    return absl::StrCat(std::string(ToString(result.exit_reason)), " ",
                        result.exit_code, " after ", result.steps, " steps");
  }
};

TrainerParts PartsOf(const Setting& setting, dist::ProcessGroup& group,
                     Trained& trained, Trainer*& trainer) {
  TrainerParts parts = LinearParts(setting.samples, setting.batch);
  parts.model = setting.model();
  parts.train_loader =
      Share(setting, setting.samples, group, setting.fault, false);
  if (setting.valid_samples > 0) {
    parts.valid_loader =
        Share(setting, setting.valid_samples, group, setting.valid_fault, true);
  }
  auto probe = std::make_unique<Probe>();
  probe->calls = &trained.calls;
  if (setting.hooks) setting.hooks(group.rank(), *probe, trainer);
  parts.hooks = ProbeRunner(std::move(probe));
  return parts;
}

void Resume(const Setting& setting, Trainer& trainer) {
  const std::string path = setting.folder + "/ckpt_latest.pth";
  const absl::StatusOr<Checkpoint> checkpoint = ReadCheckpoint(path);
  if (!checkpoint.ok())
    throw std::runtime_error(checkpoint.status().ToString());
  Problems problems;
  if (trainer.Resume(*checkpoint, {.path = path}, problems)) return;
  throw std::runtime_error(FormatProblems(problems));
}

Trained Train(const Setting& setting, dist::ProcessGroup& group) {
  Extra hyperparams = setting.hyperparams;
  hyperparams.emplace_back("log_every", Node::Int(1));
  hyperparams.emplace_back("average_best_models", Node::Bool(false));
  TrainerOptions options = Options(setting.epochs, std::move(hyperparams));
  options.group = &group;
  options.run_dir = setting.folder;
  Trained trained;
  Trainer* trainer = nullptr;
  Problems problems;
  trained.trainer = Trainer::Create(PartsOf(setting, group, trained, trainer),
                                    std::move(options), problems);
  if (trained.trainer == nullptr) {
    throw std::runtime_error(FormatProblems(problems));
  }
  trainer = trained.trainer.get();
  trainer->AddReporter(std::make_unique<Diary>(trained.heard));
  if (setting.before) setting.before(group.rank(), *trainer);
  if (setting.resumes) Resume(setting, *trainer);
  trained.result = trainer->Fit();
  return trained;
}

using Tell = std::function<std::string(const Trained& trained)>;

std::vector<Ended> RunTraining(int world_size, const Setting& setting,
                               const Tell& tell) {
  return RunRanks(world_size,
                  [&](dist::ProcessGroup& group, std::ostream& out) {
                    out << tell(Train(setting, group));
                  });
}

std::vector<std::string> TrainRanks(int world_size, const Setting& setting,
                                    const Tell& tell) {
  return Said(RunTraining(world_size, setting, tell));
}

std::string EmptyFolder(const std::string& name = "run") {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path =
      absl::StrCat(testing::TempDir(), "/ranks_", test->name(), "_", name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

// The numbers of a text, the words left out.
std::vector<double> Numbers(const std::string& text) {
  std::vector<double> numbers;
  for (const auto word : absl::StrSplit(text, ' ')) {
    double number = 0;
    if (absl::SimpleAtod(word, &number)) numbers.push_back(number);
  }
  return numbers;
}

void ExpectNear(const std::string& text, const std::string& other) {
  const std::vector<double> a = Numbers(text), b = Numbers(other);
  ASSERT_EQ(a.size(), b.size()) << text << "\n" << other;
  ASSERT_FALSE(a.empty());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 2e-5) << text << "\n" << other;
  }
}

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

std::string End(const Trained& trained) { return trained.End(); }

TEST(Ranks, StopTogetherOnASignalToOne) {
  for (const auto& [signal, end] : std::vector<std::pair<int, std::string>>{
           {SIGTERM, "signal 143"}, {SIGINT, "signal 130"}}) {
    Setting setting = AfterThreeStepsOfRankOne(
        [signal = signal](StepContext&, Trainer& trainer) {
          trainer.stop_signal() = signal;
        });
    setting.folder = EmptyFolder();
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
  setting.folder = EmptyFolder();
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
  setting.num_workers = 1;
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
  setting.folder = EmptyFolder();
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
    const Setting setting = AfterThreeStepsOfRankOne(
        [](StepContext&, Trainer&) { raise(SIGKILL); });
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
  setting.folder = EmptyFolder();
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
  setting.folder = EmptyFolder(absl::StrCat(first_ranks, "to", second_ranks));
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
  setting.folder = EmptyFolder();
  setting.hooks = [](int, Probe& probe, Trainer*&) {
    probe.step_begin = [](BatchContext& context) {
      if (context.step() == 0) context.control().RequestStop("for the test");
      return absl::OkStatus();
    };
  };
  TrainRanks(2, setting, End);
  setting.resumes = true;
  const auto ranks = RunTraining(3, setting, End);
  for (const Ended& rank : ranks) {
    EXPECT_THAT(rank.said, HasSubstr("where no batch of 12 (3 ranks of 4) "
                                     "begins"));
  }
}

}  // namespace
}  // namespace slipway::loop
