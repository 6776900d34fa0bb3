#include "trainer/report/console.h"

#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ConsoleTest : public testing::Test {
 protected:
  ConsoleReporter Reporter(ConsoleOptions::Progress progress) {
    return ConsoleReporter(
        out_,
        {.progress = progress, .width = 60, .clock = [this] { return now_; }});
  }

  static BeginReport Begin() {
    return {.run_dir = "/runs/x",
            .device = "cpu",
            .max_epochs = 2,
            .batches_per_epoch = 10,
            .train_samples = 1437,
            .valid_samples = 360,
            .architecture = "resnet18",
            .parameters = 11'700'000,
            .metric_to_watch = "Accuracy"};
  }

  static StepReport Step(int64_t batch) {
    return {.batch = batch,
            .step = batch - 1,
            .loss = 0.25,
            .learning_rates = {{"default", 0.1}},
            .samples_per_second = 9100};
  }

  std::ostringstream out_;
  double now_ = 0;
};

TEST_F(ConsoleTest, TellsATrainingInPlainLines) {
  ConsoleReporter reporter = Reporter(ConsoleOptions::Progress::kLines);
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  ASSERT_TRUE(reporter.OnStep(Step(5)).ok());
  ASSERT_TRUE(reporter.OnStep(Step(6)).ok());  // too soon for a line
  const auto epoch = [](const char* split, int64_t number, double accuracy,
                        bool best) {
    return EpochReport{.split = split,
                       .epoch = number,
                       .step = 10 * (number + 1),
                       .metrics = {{"Accuracy", accuracy}},
                       .seconds = 1.5,
                       .is_best = best};
  };
  ASSERT_TRUE(reporter.OnEpoch(epoch("train", 0, 0.5, false)).ok());
  ASSERT_TRUE(reporter.OnEpoch(epoch("valid", 0, 0.8, true)).ok());
  EpochReport slow = epoch("train", 1, 0.7, false);
  slow.time.shares = "data 40 %, compute 60 %";
  slow.time.advice = "raise num_workers from 2 to 4";
  ASSERT_TRUE(reporter.OnEpoch(slow).ok());
  ASSERT_TRUE(reporter.OnEpoch(epoch("valid", 1, 0.75, false)).ok());
  EndReport end;
  end.result = {
      {"exit_reason", "done"},
      {"epochs", 2},
      {"steps", 20},
      {"seconds", 65.0},
      {"peak_rss_bytes", 412345678},
      {"peak_device_bytes", 1.5e9},
      {"metrics",
       {{"best", {{"name", "Accuracy"}, {"value", 0.8}, {"epoch", 0}}}}}};
  ASSERT_TRUE(reporter.OnEnd(end).ok());
  EXPECT_EQ(
      out_.str(),
      "resnet18: 11.7M parameters, 1437 training and 360 validation samples, "
      "cpu\n"
      "files: /runs/x\n"
      "epoch 1/2  [==========>           ]  5/10  loss 0.2500  lr 0.1  9.1k/s\n"
      "epoch 1/2  step 10\n"
      "  train    1.5 s  Accuracy 0.5000\n"
      "  valid    1.5 s  Accuracy 0.8000 *\n"
      "epoch 2/2  step 20\n"
      "  train    1.5 s  Accuracy 0.7000 (+0.2000)\n"
      "  time   data 40 %, compute 60 %: raise num_workers from 2 to 4\n"
      "  valid    1.5 s  Accuracy 0.7500 (-0.0500) [best 0.8000 in epoch 1]\n"
      "done: 2 epochs, 20 steps in 1:05, best Accuracy 0.8000 in epoch 1, peak "
      "memory 412 MB and 1.5 GB on the device\n"
      "files: /runs/x\n");
}

TEST_F(ConsoleTest, RedrawsABarWithinTheTerminalsWidth) {
  ConsoleReporter reporter = Reporter(ConsoleOptions::Progress::kBar);
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  out_.str("");
  ASSERT_TRUE(reporter.OnStep(Step(1)).ok());
  now_ += 0.05;
  ASSERT_TRUE(reporter.OnStep(Step(2)).ok());  // too soon
  now_ += 0.1;
  ASSERT_TRUE(reporter.OnStep(Step(10)).ok());
  EXPECT_EQ(out_.str(),
            "\repoch 1/2  [=>                    ]  1/10  loss 0.2500  lr "
            "\repoch 1/2  [======================]  10/10  loss 0.2500  lr");
}

TEST_F(ConsoleTest, ClearsTheBarBeforeALine) {
  ConsoleReporter reporter = Reporter(ConsoleOptions::Progress::kBar);
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  ASSERT_TRUE(reporter.OnStep(Step(1)).ok());
  out_.str("");
  ASSERT_TRUE(reporter.OnEvent({.name = "resume", .step = 7}).ok());
  EXPECT_EQ(out_.str(), "\r" + std::string(59, ' ') + "\rresume at step 7\n");
}

TEST_F(ConsoleTest, ShowsNoStepsWhenAskedForNone) {
  ConsoleReporter reporter = Reporter(ConsoleOptions::Progress::kNone);
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  ASSERT_TRUE(reporter.OnStep(Step(1)).ok());
  EXPECT_THAT(out_.str(), Not(HasSubstr("loss")));
}

TEST_F(ConsoleTest, SaysSoWhenItCannotWrite) {
  ConsoleReporter reporter = Reporter(ConsoleOptions::Progress::kLines);
  out_.setstate(std::ios::badbit);
  EXPECT_FALSE(reporter.OnBegin(Begin()).ok());
}

TEST(Console, ShortensTimes) {
  EXPECT_EQ(Duration(7), "0:07");
  EXPECT_EQ(Duration(750), "12:30");
  EXPECT_EQ(Duration(10925), "3:02:05");
}

}  // namespace
}  // namespace slipway
