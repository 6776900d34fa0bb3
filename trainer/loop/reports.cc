#include "trainer/loop/reports.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace slipway::loop {

using Clock = std::chrono::steady_clock;

std::string DeviceName(at::Device device) {
  return device.is_cpu() ? "cpu" : device.str();
}

NamedValues NamedRates(const Run& run, const std::vector<double>& rates) {
  NamedValues named;
  const std::vector<ParameterGroup>& groups = run.optimizer->groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool told = std::any_of(
        named.begin(), named.end(),
        [&](const auto& rate) { return rate.first == groups[i].name; });
    if (!told) named.emplace_back(groups[i].name, rates[i]);
  }
  return named;
}

BeginReport DescribeRun(const Run& run) {
  BeginReport begin;
  begin.run_dir = run.options.run_dir;
  begin.experiment_name = run.options.experiment_name;
  begin.device = DeviceName(run.state.device);
  begin.world_size = run.state.world_size;
  begin.first_epoch = run.finished_epochs;
  begin.first_step = run.state.step;
  begin.max_epochs = run.hyperparams().max_epochs;
  begin.batches_per_epoch = run.state.batches_per_epoch;
  begin.train_samples = run.parts.train_loader->dataset().size();
  if (run.parts.valid_loader != nullptr) {
    begin.valid_samples = run.parts.valid_loader->dataset().size();
  }
  begin.architecture = run.options.architecture;
  begin.parameters = nn::CountParameters(*run.parts.model);
  begin.metric_to_watch = run.watched.name();
  begin.greater_is_better = run.watched.greater_is_better();
  return begin;
}

void ReportEpoch(Run& run, std::string split, const NamedValues& metrics,
                 double seconds, bool is_best) {
  for (const auto& [name, value] : metrics) {
    run.state.metrics[{split, name}] = value;
  }
  EpochReport report;
  report.split = std::move(split);
  report.epoch = run.state.epoch;
  report.step = run.state.step;
  report.metrics = metrics;
  report.seconds = seconds;
  report.is_best = is_best;
  if (report.split == "train") report.time = run.train_time;
  run.reporters.OnEpoch(report);
}

void TellEvent(Run& run, std::string_view name, nlohmann::ordered_json detail) {
  EventReport event;
  event.name = name;
  event.epoch = run.state.epoch;
  event.step = run.state.step;
  event.detail = std::move(detail);
  run.reporters.OnEvent(event);
}

void TellSkippedSamples(Run& run, const std::vector<std::string>& messages) {
  for (const std::string& message : messages) {
    TellEvent(run, "bad_sample", {{"message", message}});
  }
}

Problem TraceNote(const std::string& path) {
  Problem note;
  note.kind = "value";
  note.severity = Severity::kNote;
  note.message = "a trace of the steps was written";
  note.detail = path;
  note.hint = "open it in chrome://tracing or https://ui.perfetto.dev";
  return note;
}

StepReporter::StepReporter(Run& run, data::Epoch& batches)
    : run_(run),
      batches_(batches),
      logged_at_(Clock::now()),
      logged_samples_(run.result.samples),
      hooks_before_(run.hooks().Times()) {
  run.timer->TakeSeconds();  // what was before is another's
}

void StepReporter::Report(const std::function<double()>& loss) {
  StepReport report;
  report.epoch = run_.state.epoch;
  report.batch = run_.batches_done;
  report.step = run_.state.step - 1;
  report.logged = report.step % run_.hyperparams().log_every == 0;
  const bool first = std::exchange(first_, false);
  if (report.logged || first) report.learning_rates = LearningRates();
  if (report.logged) {
    report.loss = loss();
    FillLogged(report);
  }
  run_.reporters.OnStep(report);
}

TimeReport StepReporter::Time() {
  TimeReport time;
  time.seconds = run_.timer->TakeSeconds();
  time.shares = TimeShares(time.seconds);
  AdviceFacts facts;
  facts.num_workers = run_.parts.train_loader->options().num_workers;
  facts.cores = static_cast<int>(std::thread::hardware_concurrency());
  facts.batch_size = run_.parts.train_loader->options().batch_size;
  facts.batch_accumulate = run_.hyperparams().batch_accumulate;
  FindCostliestHook(facts);
  time.advice = Advice(time.seconds, facts);
  return time;
}

void StepReporter::FindCostliestHook(AdviceFacts& facts) const {
  for (const HookRunner::Time& time : run_.hooks().Times()) {
    double seconds = time.seconds;
    for (const HookRunner::Time& before : hooks_before_) {
      if (before.plugin == time.plugin && before.hook == time.hook) {
        seconds -= before.seconds;
      }
    }
    if (seconds <= facts.hook_seconds) continue;
    facts.hook_seconds = seconds;
    facts.plugin = time.plugin;
    facts.hook = ToString(time.hook);
  }
}

void StepReporter::FillLogged(StepReport& report) {
  const Clock::time_point now = Clock::now();
  const double seconds =
      std::chrono::duration<double>(now - logged_at_).count();
  const double waited = batches_.seconds_waited();
  const int64_t samples = run_.result.samples;
  report.samples_per_second =
      static_cast<double>(samples - logged_samples_) / seconds;
  report.data_wait = std::min(1.0, (waited - logged_wait_) / seconds);
  logged_at_ = now;
  logged_samples_ = samples;
  logged_wait_ = waited;
  TellSkippedSamples(run_, batches_.SkippedSamples());
}

NamedValues StepReporter::LearningRates() const {
  return NamedRates(run_, run_.state.learning_rates);
}

}  // namespace slipway::loop
