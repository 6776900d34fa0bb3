// Makes trainings that are easily interrupted.
//
//   +plugins.interrupts={save_every: 2}             saves every second step
//   +plugins.interrupts={kill_at: 7}                SIGKILL after step 7
//   +plugins.interrupts={signal: EvalBatchEnd}      SIGTERM in that hook
//   transforms: [{Stall: {file: PATH}}, ToTensor]   samples that do not come as
//                  long as PATH exists; PATH.reached tells that one is awaited
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace slipway {
namespace {

class Stall : public data::Transform {
 public:
  explicit Stall(std::string file) : file_(std::move(file)) {}

  absl::Status Apply(data::Sample&, const data::Dataset&,
                     data::Rng&) const override {
    std::error_code error;
    while (std::filesystem::exists(file_, error)) {
      std::ofstream(file_ + ".reached").flush();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return absl::OkStatus();
  }

 private:
  const std::string file_;
};

std::unique_ptr<data::Transform> BuildStall(const BuildArgs& args) {
  recipe::Params params(args.params, "transform Stall", args.problems);
  const std::string file = params.Text("file");
  params.Finish();
  return std::make_unique<Stall>(file);
}

class Interrupts : public Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config) {
    return std::make_unique<Interrupts>(config);
  }

  explicit Interrupts(const recipe::Node& config)
      : save_every_(config.Find("save_every")->AsInt()),
        kill_at_(config.Find("kill_at")->AsInt()),
        slow_(config.Find("slow")->AsInt()),
        signal_(config.Find("signal")->AsString()) {}

  void Register(Components& components) override {
    components.transforms.Add("Stall", BuildStall);
  }

  absl::Status FitBegin(FitContext&) override { return At("FitBegin"); }
  absl::Status AfterOptimizer(StepContext& context) override {
    std::this_thread::sleep_for(slow_);
    const int64_t step = context.step();
    if (kill_at_ > 0 && step == kill_at_) raise(SIGKILL);
    if (save_every_ > 0 && step % save_every_ == 0) {
      context.control().RequestSave();
    }
    return step == 3 ? At("AfterOptimizer") : absl::OkStatus();
  }
  absl::Status EvalBatchEnd(EvalContext&) override {
    return At("EvalBatchEnd");
  }
  absl::Status EpochEnd(FitContext&) override { return At("EpochEnd"); }

 private:
  absl::Status At(const char* hook) {
    if (hook == signal_) raise(SIGTERM);
    return absl::OkStatus();
  }

  const int64_t save_every_;
  const int64_t kill_at_;
  const std::chrono::milliseconds slow_;
  const std::string signal_;
};

}  // namespace
}  // namespace slipway

SLIPWAY_PLUGIN("interrupts", "1.0.0", slipway::Interrupts);
