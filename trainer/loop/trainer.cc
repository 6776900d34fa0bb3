#include "trainer/loop/trainer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "absl/strings/str_cat.h"
#include "trainer/loop/averaging.h"
#include "trainer/loop/device.h"
#include "trainer/loop/ending.h"
#include "trainer/loop/observing.h"
#include "trainer/loop/random.h"
#include "trainer/loop/reduce.h"
#include "trainer/loop/reports.h"
#include "trainer/loop/restoring.h"
#include "trainer/loop/return_if_error.h"
#include "trainer/loop/rollback.h"
#include "trainer/loop/run.h"
#include "trainer/loop/saving.h"
#include "trainer/loop/step.h"
#include "trainer/loop/together.h"
#include "trainer/plugin/exception.h"

namespace slipway::loop {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr char kNonFiniteHint[] =
    "lower the learning rate (initial_lr), clip the gradients "
    "(clip_grad_norm: 1.0), or take such steps back (non_finite: rollback)";
constexpr char kGaveUpHint[] =
    "lower the learning rate (initial_lr), clip the gradients "
    "(clip_grad_norm: 1.0), and look at the batches that metrics.jsonl names";

// The loop itself, from the first epoch to the last.
class Fit {
 public:
  explicit Fit(Run& run)
      : run_(run),
        state_(run.state),
        h_(run.hyperparams()),
        hooks_(run.hooks()),
        stepper_(*run.stepper),
        decisions_(*run.decisions) {
    stepper_.set_timer(run.timer.get());
    if (Rollback::IsWanted(h_)) rollback_.emplace(run);
  }

  absl::Status Train() {
    SeedGenerators(h_.seed + static_cast<uint64_t>(state_.rank), state_.device);
    SLIPWAY_RETURN_IF_ERROR(BeginTogether(run_));
    run_.reporters.OnBegin(DescribeRun(run_));
    if (!run_.resume_detail.is_null()) {
      TellEvent(run_, "resume", run_.resume_detail);
    }
    BeginAveraging(run_);
    FitContext context(state_);
    SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kFitBegin>(context));
    SLIPWAY_RETURN_IF_ERROR(ObserveBegin(run_));
    while (run_.finished_epochs < h_.max_epochs && !decisions_.stops()) {
      SLIPWAY_RETURN_IF_ERROR(OneEpoch());
    }
    if (decisions_.stops() && run_.saved != run_.position()) {
      SLIPWAY_RETURN_IF_ERROR(SaveLatest(run_));
    }
    SLIPWAY_RETURN_IF_ERROR(FinishSaves(run_));
    SLIPWAY_RETURN_IF_ERROR(ObserveEnd(run_));
    if (decisions_.signal() == 0) SLIPWAY_RETURN_IF_ERROR(Average());
    TellTrace(run_.profiler.Finish());
    return hooks_.Run<Hook::kFitEnd>(context);
  }

 private:
  // --- epochs ----------------------------------------------------------------

  absl::Status OneEpoch() {
    const Clock::time_point start = Clock::now();
    state_.epoch = run_.finished_epochs;
    SLIPWAY_RETURN_IF_ERROR(TrainEpoch());
    // A request to stop leaves an epoch where it stands.
    if (run_.batches_done < state_.batches_per_epoch) return absl::OkStatus();
    ReportEpoch(run_, "train", run_.train_metrics, SecondsSince(start), false);
    return EndEpoch();
  }

  absl::Status EndEpoch() {
    const bool validates =
        run_.parts.valid_loader != nullptr && h_.ValidatesAfter(state_.epoch);
    is_best_ = false;
    bool complete = true;
    if (validates) SLIPWAY_RETURN_IF_ERROR(Validate(&complete));
    // A resume begins with the validation that a signal broke off.
    if (!complete) return absl::OkStatus();
    run_.batches_done = 0;
    ++run_.finished_epochs;
    FitContext context(state_);
    SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kEpochEnd>(context));
    SLIPWAY_RETURN_IF_ERROR(decisions_.MeetAtEpochEnd());
    const bool saves =
        validates || run_.parts.valid_loader == nullptr || decisions_.saves();
    // In a window that is carried over its step may still have to be skipped.
    decisions_.Done(/*window_open=*/state_.micro > 0);
    return saves ? SaveAfterEpoch(run_, is_best_) : absl::OkStatus();
  }

  absl::Status TrainEpoch() {
    SLIPWAY_RETURN_IF_ERROR(BeginEpoch());
    if (rollback_) rollback_->EpochBegan();
    std::unique_ptr<data::Epoch> batches =
        run_.parts.train_loader->Begin(state_.epoch, run_.batches_done);
    StepReporter reporter(run_, *batches);
    ShareSteps(*batches);
    bool goes_on = true;
    while (run_.batches_done < state_.batches_per_epoch && !StopsHere()) {
      if (state_.micro == 0) TellTrace(run_.profiler.BeforeStep(state_.step));
      if (rollback_) SLIPWAY_RETURN_IF_ERROR(rollback_->BeforeBatch());
      SLIPWAY_RETURN_IF_ERROR(Fetch(*batches, &goes_on));
      if (!goes_on) break;
      SLIPWAY_RETURN_IF_ERROR(OneBatch());
      if (state_.micro >= window_) SLIPWAY_RETURN_IF_ERROR(OneStep(reporter));
    }
    TellSkippedSamples(run_, batches->SkippedSamples());
    if (decisions_.stops()) run_.abandoned = std::move(batches);
    SLIPWAY_RETURN_IF_ERROR(ComputeTrainMetrics());
    run_.train_time = reporter.Time();
    return absl::OkStatus();
  }

  absl::Status ComputeTrainMetrics() {
    const PhaseScope phase(run_.timer.get(), Phase::kMetrics);
    absl::StatusOr<NamedValues> loss =
        ComputeOverRanks(run_.train_loss, run_.group());
    if (!loss.ok()) return loss.status();
    run_.train_metrics = *std::move(loss);
    absl::StatusOr<NamedValues> values =
        ComputeOverRanks(run_.parts.train_metrics, run_.group());
    if (!values.ok()) return values.status();
    for (auto& value : *values) run_.train_metrics.push_back(std::move(value));
    return absl::OkStatus();
  }

  // In each step several ranks tell what they are asked for, and whether they
  // have the batch after it.
  void ShareSteps(const data::Epoch& batches) {
    decisions_.EpochBegins();
    stepper_.set_sync(run_.sync.get(), [this, &batches](Word& word) {
      decisions_.Speak(word);
      word.waits =
          run_.batches_done + 1 < state_.batches_per_epoch && !batches.Ready();
    });
  }

  absl::Status BeginEpoch() {
    run_.parts.model->Train(true);
    const bool goes_on = run_.batches_done > 0;
    if (!goes_on) SLIPWAY_RETURN_IF_ERROR(RestoreEpoch(run_));
    run_.train_loss.Reset();
    for (const auto& metric : run_.parts.train_metrics) metric->Reset();
    FitContext context(state_);
    state_.loader_writable = true;
    const absl::Status status = hooks_.Run<Hook::kEpochBegin>(context);
    state_.loader_writable = false;
    if (!status.ok()) return status;
    return goes_on ? RestoreEpoch(run_) : absl::OkStatus();
  }

  // Requests are honoured between steps, not in the middle of a window.
  bool StopsHere() const { return decisions_.stops() && state_.micro == 0; }

  // --- batches and steps -----------------------------------------------------

  // `goes_on`: unless a signal came before the batch did, on some rank.
  absl::Status Fetch(data::Epoch& batches, bool* goes_on) {
    const PhaseScope phase(run_.timer.get(), Phase::kData);
    state_.batch_index = run_.batches_done;
    absl::StatusOr<std::optional<data::Batch>> batch = batches.Next();
    const bool stalled =
        absl::IsCancelled(batch.status()) && run_.stop_signal != 0;
    if (!stalled && !batch.ok()) return Failed(run_, "data", batch.status());
    SLIPWAY_RETURN_IF_ERROR(Meet(stalled, goes_on));
    if (!*goes_on) return absl::OkStatus();
    if (!batch->has_value()) {
      return Failed(run_, "data",
                    absl::InternalError(absl::StrCat(
                        "the training loader ended after ", run_.batches_done,
                        " of ", state_.batches_per_epoch, " batches")));
    }
    state_.batch = **std::move(batch);
    MoveTo(state_.device, state_.batch);
    BatchContext context(state_);
    return hooks_.Run<Hook::kBatchFetched>(context);
  }

  absl::Status Meet(bool stalled, bool* goes_on) {
    const bool alone = run_.sync == nullptr;
    const PhaseScope phase(alone ? nullptr : run_.timer.get(),
                           Phase::kSynchronisation);
    const absl::StatusOr<bool> met =
        decisions_.MeetBeforeBatch(stalled, /*window_open=*/state_.micro > 0);
    if (!met.ok()) return met.status();
    *goes_on = *met;
    return absl::OkStatus();
  }

  absl::Status OneBatch() {
    // It may have begun before a resume.
    if (state_.micro == 0 || window_ == 0) window_ = WindowSize();
    const absl::Status status = stepper_.MicroBatch(window_);
    if (!status.ok()) return StepFailed(status);
    const PhaseScope phase(run_.timer.get(), Phase::kMetrics);
    const at::NoGradGuard no_gradients;
    run_.train_loss.Add(state_.loss, state_.batch.valid);
    for (const auto& metric : run_.parts.train_metrics) {
      SLIPWAY_RETURN_IF_ERROR(metric->Update(
          state_.prediction, state_.batch.target, state_.batch.valid));
    }
    // Gone before the next one is made.
    state_.prediction = Value();
    run_.result.samples += state_.batch.valid * state_.world_size;
    ++run_.batches_done;
    return absl::OkStatus();
  }

  // `mean` ends an epoch's last window early, `sum` carries it over.
  int64_t WindowSize() const {
    if (h_.accumulate == Accumulate::kSum) return h_.batch_accumulate;
    const int64_t begin = run_.batches_done - state_.micro;
    return std::min(h_.batch_accumulate, state_.batches_per_epoch - begin);
  }

  absl::Status OneStep(StepReporter& reporter) {
    const absl::Status status = stepper_.FinishWindow();
    if (!status.ok()) return StepFailed(status);
    if (run_.sync != nullptr) decisions_.Hear(stepper_.agreement());
    run_.heartbeat.Beat();
    if (stepper_.bad_step()) {
      SLIPWAY_RETURN_IF_ERROR(TakeBack());
    } else if (state_.step_taken) {
      reporter.Report([this] { return stepper_.WindowLoss(); });
    } else {
      TellEvent(run_, "skip_step", {{"reason", stepper_.skip_reason()}});
    }
    SLIPWAY_RETURN_IF_ERROR(ObserveStep(run_));
    return HonourRequests();
  }

  absl::Status TakeBack() {
    const absl::Status status = rollback_->TakeBack(*stepper_.bad_step());
    return rollback_->gave_up() ? EndNonFinite(status, kGaveUpHint) : status;
  }

  absl::Status StepFailed(const absl::Status& status) {
    if (!stepper_.stopped_by_non_finite()) return status;
    return EndNonFinite(status, kNonFiniteHint);
  }

  absl::Status EndNonFinite(const absl::Status& status, const char* hint) {
    TellEvent(run_, "non_finite", {{"message", std::string(status.message())}});
    run_.result.exit_reason = ExitReason::kNonFinite;
    return Failed(run_, "non_finite", status, hint);
  }

  // Tells what was saved meanwhile, and does what hooks asked for in this step.
  // A stop is seen by the epoch's loop, and requests of an epoch's last step
  // are met as the epoch ends.
  absl::Status HonourRequests() {
    SLIPWAY_RETURN_IF_ERROR(TellSaved(run_));
    if (run_.batches_done == state_.batches_per_epoch) return absl::OkStatus();
    const bool saves = decisions_.saves();
    const bool evaluates = decisions_.evaluates();
    decisions_.Done(/*window_open=*/false);
    if (evaluates && run_.parts.valid_loader != nullptr) {
      bool complete = true;
      SLIPWAY_RETURN_IF_ERROR(Validate(&complete));
      if (complete && is_best_) SLIPWAY_RETURN_IF_ERROR(SaveBest(run_));
    }
    return saves ? SaveLatest(run_) : absl::OkStatus();
  }

  void TellTrace(const std::optional<std::string>& path) {
    if (path) run_.reporters.OnProblem(TraceNote(*path));
  }

  // --- evaluation ------------------------------------------------------------

  // `complete`: unless a signal broke it off.
  absl::Status Validate(bool* complete) {
    const PhaseScope phase(run_.timer.get(), Phase::kEvaluation);
    absl::StatusOr<EvaluationResult> result =
        Evaluate(state_, hooks_, ValidationPass("valid"));
    if (!result.ok()) return result.status();
    TellSkippedSamples(run_, result->skipped_samples);
    *complete = result->complete;
    if (!*complete) {
      run_.abandoned = std::move(result->abandoned);
      return absl::OkStatus();
    }
    run_.valid_metrics = std::move(result->values);
    is_best_ = run_.watched.Offer(run_.valid_metrics, state_.epoch);
    ReportEpoch(run_, "valid", run_.valid_metrics, result->seconds, is_best_);
    return absl::OkStatus();
  }

  // Several ranks would have to average alike before they evaluate together.
  absl::Status Average() {
    const PhaseScope phase(run_.timer.get(), Phase::kEvaluation);
    if (run_.parts.valid_loader == nullptr || state_.world_size > 1) {
      return WriteAverage(run_, nullptr);
    }
    const Evaluation pass = ValidationPass("average");
    return WriteAverage(run_, &pass);
  }

  Evaluation ValidationPass(const std::string& split) {
    Evaluation pass;
    pass.split = split;
    pass.loader = run_.parts.valid_loader.get();
    pass.metrics = &run_.parts.valid_metrics;
    pass.loss = run_.parts.loss.get();
    pass.loss_name = run_.parts.loss_name;
    pass.max_batches = h_.max_valid_batches;
    pass.group = &run_.group();
    pass.goes_on = [this](bool stalled) {
      return decisions_.MeetInEvaluation(stalled);
    };
    if (split == "valid") {
      pass.at_end = [this](const NamedValues& v) { OfferModel(run_, v); };
    }
    pass.progress = [this, split](int64_t done, int64_t batches) {
      run_.reporters.OnEvaluationProgress({split, done, batches});
      run_.heartbeat.Beat();
      return decisions_.signal() == 0;
    };
    return pass;
  }

  Run& run_;
  TrainingState& state_;
  const Hyperparams& h_;
  HookRunner& hooks_;
  Stepper& stepper_;
  Decisions& decisions_;
  std::optional<Rollback> rollback_;
  int64_t window_ = 0;  // micro-batches of the current one
  bool is_best_ = false;
};

}  // namespace

RunResult Trainer::Fit() {
  Run& run = *run_;
  run.started = Clock::now();
  run.timer = std::make_unique<PhaseTimer>(run.hooks());
  run.decisions.emplace(run.group(), run.state.control, run.stop_signal);
  run.heartbeat = dist::Heartbeat(run.group().environment().heartbeat_fd);
  run.state.report = [&run](const Problem& problem) {
    run.reporters.OnProblem(problem);
  };
  run.state.tell = [&run](std::string_view name, const recipe::Node& detail) {
    TellEvent(run, name, detail.ToJson());
  };
  run.parts.train_loader->set_stop(&run.stop_signal);
  if (run.parts.valid_loader != nullptr) {
    run.parts.valid_loader->set_stop(&run.stop_signal);
  }
  const absl::Status status =
      Guarded([&run] { return loop::Fit(run).Train(); });
  EndRun(run, status, run.SecondsSoFar());
  return run.result;
}

}  // namespace slipway::loop
