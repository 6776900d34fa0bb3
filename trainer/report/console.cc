#include "trainer/report/console.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway {
namespace {

std::string Number(const nlohmann::ordered_json& value) {
  return value.is_number() ? absl::StrFormat("%.4f", value.get<double>())
                           : value.dump();
}

// "valid Accuracy": what differences are taken of.
std::string MetricKey(const std::string& split, const std::string& name) {
  return absl::StrCat(split, " ", name);
}

}  // namespace

std::string ShortBytes(double bytes) {
  if (bytes >= 1e9) return absl::StrFormat("%.1f GB", bytes / 1e9);
  return absl::StrFormat("%.0f MB", bytes / 1e6);
}

std::string Duration(double seconds) {
  const auto total = static_cast<int64_t>(std::lround(seconds));
  const int64_t hours = total / 3600;
  if (hours > 0) {
    return absl::StrFormat("%d:%02d:%02d", hours, total / 60 % 60, total % 60);
  }
  return absl::StrFormat("%d:%02d", total / 60, total % 60);
}

ConsoleReporter::ConsoleReporter(std::ostream& out, ConsoleOptions options)
    : out_(out), progress_(out, std::move(options)) {}

absl::Status ConsoleReporter::Good() {
  if (out_.good()) return absl::OkStatus();
  return absl::UnknownError("cannot write to the console");
}

std::string ConsoleReporter::EpochTitle(int64_t epoch) const {
  return absl::StrCat("epoch ", epoch + 1, "/", begin_.max_epochs);
}

absl::Status ConsoleReporter::OnBegin(const BeginReport& begin) {
  begin_ = begin;
  out_ << absl::StrFormat(
      "%s: %s parameters, %d training and %d validation samples, %s%s\n",
      begin.architecture, ShortNumber(static_cast<double>(begin.parameters)),
      begin.train_samples, begin.valid_samples, begin.device,
      begin.world_size > 1 ? absl::StrCat(", ", begin.world_size, " ranks")
                           : "");
  out_ << "files: " << begin.run_dir << "\n" << std::flush;
  return Good();
}

absl::Status ConsoleReporter::OnStep(const StepReport& step) {
  if (step.loss) last_loss_ = *step.loss;
  if (!step.learning_rates.empty()) last_rates_ = step.learning_rates;
  if (!progress_.IsDue()) return absl::OkStatus();
  std::string line = absl::StrCat(
      EpochTitle(step.epoch), "  ",
      ProgressBar(step.batch, begin_.batches_per_epoch), "  ", step.batch, "/",
      begin_.batches_per_epoch, absl::StrFormat("  loss %.4f", last_loss_));
  if (!last_rates_.empty()) {
    absl::StrAppendFormat(&line, "  lr %.4g", last_rates_.front().second);
  }
  if (step.samples_per_second > 0) {
    absl::StrAppend(&line, "  ", ShortNumber(step.samples_per_second), "/s");
  }
  progress_.Show(line);
  return Good();
}

absl::Status ConsoleReporter::OnEvaluationProgress(
    const EvaluationProgress& progress) {
  if (!progress_.IsDue()) return absl::OkStatus();
  progress_.Show(absl::StrCat(progress.split, "  ",
                              ProgressBar(progress.batch, progress.batches),
                              "  ", progress.batch, "/", progress.batches));
  return Good();
}

std::string ConsoleReporter::FormatMetric(const EpochReport& epoch,
                                          const std::string& name,
                                          double value) {
  std::string text = absl::StrFormat("%s %.4f", name, value);
  const std::string key = MetricKey(epoch.split, name);
  const auto previous = previous_.find(key);
  if (previous != previous_.end()) {
    absl::StrAppendFormat(&text, " (%+.4f)", value - previous->second);
  }
  previous_[key] = value;
  if (epoch.split == "train" || name != begin_.metric_to_watch) return text;
  if (epoch.is_best) {
    best_ = Best{.value = value, .epoch = epoch.epoch};
    return text + " *";
  }
  if (best_) {
    absl::StrAppendFormat(&text, " [best %.4f in epoch %d]", best_->value,
                          best_->epoch + 1);
  }
  return text;
}

absl::Status ConsoleReporter::OnEpoch(const EpochReport& epoch) {
  progress_.Clear();
  if (titled_epoch_ != epoch.epoch) {
    out_ << EpochTitle(epoch.epoch) << "  step " << epoch.step << "\n";
    titled_epoch_ = epoch.epoch;
  }
  out_ << absl::StrFormat("  %-5s %6.1f s", epoch.split, epoch.seconds);
  for (const auto& [name, value] : epoch.metrics) {
    out_ << "  " << FormatMetric(epoch, name, value);
  }
  out_ << "\n";
  if (!epoch.time.shares.empty()) {
    out_ << "  time   " << epoch.time.shares
         << (epoch.time.advice.empty() ? "" : ": ") << epoch.time.advice
         << "\n";
  }
  out_ << std::flush;
  return Good();
}

absl::Status ConsoleReporter::OnEvent(const EventReport& event) {
  // Checkpoints are routine; the last line says where they are.
  if (event.name == "checkpoint") return absl::OkStatus();
  progress_.Clear();
  out_ << absl::StrFormat("%s at step %d", event.name, event.step);
  if (!event.detail.empty()) out_ << " " << event.detail.dump();
  out_ << "\n" << std::flush;
  return Good();
}

absl::Status ConsoleReporter::OnProblem(const Problem& problem) {
  progress_.Clear();
  out_ << FormatProblem(problem) << std::flush;
  return Good();
}

absl::Status ConsoleReporter::OnEnd(const EndReport& end) {
  progress_.Clear();
  const nlohmann::ordered_json& result = end.result;
  if (end.error) out_ << FormatProblem(*end.error);
  out_ << result.value("exit_reason", "done") << ": "
       << result.value("epochs", int64_t{0}) << " epochs, "
       << result.value("steps", int64_t{0}) << " steps in "
       << Duration(result.value("seconds", 0.0));
  const auto metrics = result.find("metrics");
  if (metrics != result.end() && metrics->contains("best") &&
      (*metrics)["best"].is_object()) {
    const auto& best = (*metrics)["best"];
    out_ << ", best " << best["name"].get<std::string>() << " "
         << Number(best["value"]) << " in epoch "
         << best["epoch"].get<int64_t>() + 1;
  }
  const auto peak = [&result](const char* key) {
    const auto found = result.find(key);
    return found != result.end() && found->is_number() ? found->get<double>()
                                                       : 0;
  };
  if (peak("peak_rss_bytes") > 0) {
    out_ << ", peak memory " << ShortBytes(peak("peak_rss_bytes"));
  }
  if (peak("peak_device_bytes") > 0) {
    out_ << " and " << ShortBytes(peak("peak_device_bytes"))
         << " on the device";
  }
  out_ << "\nfiles: " << begin_.run_dir << "\n" << std::flush;
  return Good();
}

}  // namespace slipway
