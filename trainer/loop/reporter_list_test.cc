#include "trainer/loop/reporter_list.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

using testing::ElementsAre;

// Writes down what it hears, and fails from its `fail_at`th call on.
class Diary : public Reporter {
 public:
  Diary(std::vector<std::string>& lines, int fail_at)
      : lines_(lines), fail_at_(fail_at) {}

  absl::Status OnStep(const StepReport& step) override {
    return Note("step " + std::to_string(step.step));
  }
  absl::Status OnProblem(const Problem& problem) override {
    return Note(problem.message);
  }
  absl::Status OnEnd(const EndReport&) override { return Note("end"); }

 private:
  absl::Status Note(std::string line) {
    if (++calls_ >= fail_at_) return absl::UnavailableError("disk full");
    lines_.push_back(std::move(line));
    return absl::OkStatus();
  }

  std::vector<std::string>& lines_;
  int fail_at_;
  int calls_ = 0;
};

TEST(ReporterList, LeavesOutAReporterThatFailsAndSaysSoOnce) {
  std::vector<std::string> good, bad;
  ReporterList list;
  list.Add(std::make_unique<Diary>(bad, 2));
  list.Add(std::make_unique<Diary>(good, 100));
  for (StepReport report; report.step < 3; ++report.step) {
    list.OnStep(report);
  }
  list.OnEnd({});
  EXPECT_THAT(bad, ElementsAre("step 0"));
  EXPECT_THAT(good,
              ElementsAre("step 0", "step 1", "disk full", "step 2", "end"));
}

TEST(ReporterList, SurvivesTheFailureOfAll) {
  std::vector<std::string> lines;
  ReporterList list;
  list.Add(std::make_unique<Diary>(lines, 1));
  list.Add(std::make_unique<Diary>(lines, 2));
  list.OnStep({});
  EXPECT_TRUE(list.empty());
  list.OnEnd({});
  EXPECT_THAT(lines, ElementsAre("step 0"));
}

}  // namespace
}  // namespace slipway::loop
