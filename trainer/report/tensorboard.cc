#include "trainer/report/tensorboard.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace slipway {
namespace {

constexpr char kHyperParams[] = "hyper_params";
constexpr double kSystemInterval = 30;  // seconds

double SystemSeconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Tag(std::string name) {
  absl::AsciiStrToLower(&name);
  return absl::StrReplaceAll(name, {{" ", "_"}});
}

// "<prefix>lr", or "<prefix>lr/<group>" where there are several.
NamedValues Rates(const std::string& prefix, const NamedValues& rates) {
  NamedValues tagged;
  for (const auto& [group, rate] : rates) {
    tagged.emplace_back(rates.size() == 1
                            ? absl::StrCat(prefix, "lr")
                            : Tag(absl::StrCat(prefix, "lr/", group)),
                        rate);
  }
  return tagged;
}

// JSON that stays as it is where Markdown would join its lines.
std::string AsMarkdown(const nlohmann::ordered_json& recipe) {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return absl::StrReplaceAll(recipe.dump(4, ' ', false, kReplace),
                             {{" ", "&nbsp;"}, {"\n", "  \n  "}});
}

}  // namespace

TensorBoardReporter::TensorBoardReporter(TensorBoardOptions options)
    : options_(std::move(options)) {
  if (!options_.clock) options_.clock = SystemSeconds;
}

TensorBoardReporter::Axis TensorBoardReporter::AxisOf(const std::string& tag) {
  if (tag.starts_with("step/")) return Axis::kStep;
  if (tag.starts_with("System/")) return Axis::kCount;
  if (tag.starts_with(kHyperParams)) return Axis::kNone;
  return Axis::kEpoch;
}

absl::Status TensorBoardReporter::Open(int64_t first_epoch,
                                       int64_t first_step) {
  const double now = options_.clock();
  // Two files at once would not both be read.
  log_ = nullptr;
  const auto keep = [&](const EventHead& event) {
    switch (AxisOf(event.tag)) {
      case Axis::kEpoch:
        return event.step < first_epoch;
      case Axis::kStep:
        return event.step < first_step;
      case Axis::kCount:
        system_count_ = std::max(system_count_, event.step + 1);
        return true;
      case Axis::kNone:
        break;
    }
    return false;
  };
  auto log = EventLog::Open(options_.folder, keep, now);
  if (!log.ok()) return log.status();
  log_ = *std::move(log);
  next_step_ = first_step;
  rates_epoch_ = trained_epoch_ = first_epoch - 1;
  return log_->Write(
      EncodeText(now, 0, kHyperParams, AsMarkdown(options_.recipe)));
}

absl::Status TensorBoardReporter::OnBegin(const BeginReport& begin) {
  max_epochs_ = begin.max_epochs;
  if (options_.monitor_system) {
    system_.emplace(options_.folder, options_.clock());
  }
  return Open(begin.first_epoch, begin.first_step);
}

absl::Status TensorBoardReporter::Write(int64_t step,
                                        const NamedValues& scalars) {
  if (scalars.empty()) return absl::OkStatus();
  return log_->Write(EncodeScalars(options_.clock(), step, scalars));
}

absl::Status TensorBoardReporter::OnStep(const StepReport& step) {
  absl::Status status;
  if (step.step < next_step_) status = Open(step.epoch, step.step);
  next_step_ = step.step + 1;
  if (status.ok()) status = WriteEpochRates(step);
  if (status.ok() && step.logged) status = WriteLoggedStep(step);
  return status;
}

absl::Status TensorBoardReporter::WriteEpochRates(const StepReport& step) {
  if (rates_epoch_ >= step.epoch || step.learning_rates.empty()) {
    return absl::OkStatus();
  }
  rates_epoch_ = step.epoch;
  return Write(step.epoch, Rates("", step.learning_rates));
}

absl::Status TensorBoardReporter::WriteLoggedStep(const StepReport& step) {
  NamedValues scalars = Rates("step/", step.learning_rates);
  if (step.loss) scalars.emplace_back("step/loss", *step.loss);
  scalars.emplace_back("step/samples_per_second", step.samples_per_second);
  scalars.emplace_back("step/data_wait", step.data_wait);
  const absl::Status written = Write(step.step, scalars);
  return written.ok() ? WriteSystem(options_.clock()) : written;
}

absl::Status TensorBoardReporter::WriteSystem(double now) {
  if (!system_ || now - system_->since() < kSystemInterval) {
    return absl::OkStatus();
  }
  return Write(system_count_++, system_->Take(now));
}

absl::Status TensorBoardReporter::OnEpoch(const EpochReport& epoch) {
  if (epoch.split == "average") {
    NamedValues scalars;
    for (const auto& [name, value] : epoch.metrics) {
      scalars.emplace_back(Tag(name), value);
    }
    return Write(max_epochs_, scalars);
  }
  if (epoch.split == "train") trained_epoch_ = epoch.epoch;
  const bool in_the_middle = trained_epoch_ < epoch.epoch;
  const std::string prefix =
      absl::StrCat(in_the_middle ? "step/" : "", epoch.split, "_");
  NamedValues scalars = {
      {absl::StrCat(prefix, "inference_time"), epoch.seconds * 1000}};
  for (const auto& [name, value] : epoch.metrics) {
    scalars.emplace_back(Tag(absl::StrCat(prefix, name)), value);
  }
  return Write(in_the_middle ? epoch.step : epoch.epoch, scalars);
}

}  // namespace slipway
