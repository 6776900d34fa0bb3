#include "trainer/loop/train_ranks.h"

#include <filesystem>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway::loop {
namespace {

using recipe::Node;

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

// The numbers of a text, the words left out.
std::vector<double> Numbers(const std::string& text) {
  std::vector<double> numbers;
  for (const auto word : absl::StrSplit(text, ' ')) {
    double number = 0;
    if (absl::SimpleAtod(word, &number)) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::string Trained::Weights() const {
  std::string text;
  for (const auto& [name, tensor] : trainer->model().StateDict()) {
    const at::Tensor values = tensor.detach().to(at::kDouble).reshape({-1});
    for (int64_t i = 0; i < values.numel(); ++i) {
      absl::StrAppendFormat(&text, "%.6f ", values[i].item().toDouble());
    }
  }
  return text;
}

std::string Trained::Losses() const {
  std::vector<std::string> losses;
  for (const StepReport& step : heard.steps) {
    losses.push_back(absl::StrFormat("%.5f", step.loss.value_or(-1)));
  }
  return absl::StrJoin(losses, " ");
}

std::string Trained::Values(const std::string& split) const {
  std::string text;
  for (const EpochReport& epoch : heard.epochs) {
    if (epoch.split != split) continue;
    for (const auto& [name, value] : epoch.metrics) {
      absl::StrAppendFormat(&text, "%s %.6f ", name, value);
    }
  }
  return text;
}

std::string Trained::End() const {
  return absl::StrCat(std::string(ToString(result.exit_reason)), " ",
                      result.exit_code, " after ", result.steps, " steps");
}

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

std::string End(const Trained& trained) { return trained.End(); }

std::string EmptyRunFolder(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path =
      absl::StrCat(testing::TempDir(), "/ranks_", test->name(), "_", name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

void ExpectNear(const std::string& text, const std::string& other) {
  const std::vector<double> a = Numbers(text), b = Numbers(other);
  ASSERT_EQ(a.size(), b.size()) << text << "\n" << other;
  ASSERT_FALSE(a.empty());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 2e-5) << text << "\n" << other;
  }
}

}  // namespace slipway::loop
