// A plugin that is nothing but a reporter: sg_logger: {postcard: {to: FILE}}.
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "trainer/plugin/components.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"
#include "trainer/report/reporter.h"

namespace slipway {
namespace {

class Postcard : public Reporter {
 public:
  Postcard(const std::string& to, int64_t fail_at)
      : out_(to), fail_at_(fail_at) {}

  absl::Status OnEpoch(const EpochReport& epoch) override {
    if (epoch.epoch == fail_at_) throw 42;
    out_ << epoch.split << " " << epoch.epoch << "\n" << std::flush;
    return absl::OkStatus();
  }

  absl::Status OnEnd(const EndReport& end) override {
    out_ << end.result.value("exit_reason", "") << "\n" << std::flush;
    return absl::OkStatus();
  }

 private:
  std::ofstream out_;
  int64_t fail_at_;
};

class PostcardPlugin : public Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const recipe::Node&) {
    return std::make_unique<PostcardPlugin>();
  }

  void Register(Components& components) override {
    components.reporters.Add(
        "postcard", [](const BuildArgs& args) -> std::unique_ptr<Reporter> {
          const size_t problems_before = args.problems.size();
          recipe::Params params(args.params, "reporter postcard",
                                args.problems);
          const std::string to = params.Text("to");
          const int64_t fail_at = params.Int("fail_at", {.fallback = -1});
          params.Finish();
          if (args.problems.size() > problems_before) return nullptr;
          return std::make_unique<Postcard>(to, fail_at);
        });
  }
};

}  // namespace
}  // namespace slipway

SLIPWAY_PLUGIN("postcard", "1.0.0", slipway::PostcardPlugin);
