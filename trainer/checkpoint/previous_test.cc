#include "trainer/checkpoint/previous.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "ATen/ops/full.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/atomic_file.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PreviousTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    const fs::path folder = fs::path(testing::TempDir()) / info->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
    path_ = (folder / "ckpt_latest.pth").string();
  }

  void Write(int64_t epoch) {
    Checkpoint checkpoint;
    checkpoint.epoch = epoch;
    checkpoint.net = {{"weight", at::full({3}, 1.0)}};
    ASSERT_TRUE(WriteCheckpoint(checkpoint, path_, Replaced::kPrevious).ok());
  }

  static void Truncate(const std::string& path) {
    fs::resize_file(path, fs::file_size(path) / 2);
  }

  std::string path_;
};

TEST_F(PreviousTest, ReadsTheLatestWithoutAWord) {
  Write(1);
  Write(2);
  const absl::StatusOr<FoundCheckpoint> found = ReadCheckpointOrPrevious(path_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->checkpoint.epoch, 2);
  EXPECT_EQ(found->path, path_);
  EXPECT_EQ(found->warning, "");
}

TEST_F(PreviousTest, FallsBackFromADamagedLatestAndSaysSo) {
  Write(1);
  Write(2);
  Truncate(path_);
  const absl::StatusOr<FoundCheckpoint> found = ReadCheckpointOrPrevious(path_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->checkpoint.epoch, 1);
  EXPECT_EQ(found->path, PreviousPath(path_));
  EXPECT_THAT(found->warning, HasSubstr(path_ + ": damaged zip archive"));
  EXPECT_THAT(found->warning, HasSubstr("continuing from the one before it"));
}

TEST_F(PreviousTest, FallsBackFromALatestThatIsGone) {
  Write(1);
  Write(2);
  fs::remove(path_);
  EXPECT_EQ(ReadCheckpointOrPrevious(path_)->checkpoint.epoch, 1);
}

TEST_F(PreviousTest, SaysWhatIsWrongWithTheLatestWhenNoneIsWhole) {
  Write(1);
  Truncate(path_);
  const absl::Status alone = ReadCheckpointOrPrevious(path_).status();
  EXPECT_EQ(alone.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(alone.message()), HasSubstr(path_));
  fs::copy_file(path_, PreviousPath(path_));
  const absl::Status both = ReadCheckpointOrPrevious(path_).status();
  EXPECT_EQ(both.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(both.message()), HasSubstr(PreviousPath(path_)));
}

TEST_F(PreviousTest, DoesNotPassOverTheFileOfANewerSlipway) {
  Write(1);
  Write(2);
  PickleValue newer = PickleValue::Dict();
  newer.Set("net", PickleValue::Dict());
  PickleValue ours = PickleValue::Dict();
  ours.Set("schema", PickleValue::Int(1000));
  newer.Set("slipway", std::move(ours));
  ASSERT_TRUE(TensorFileWriter().Write(newer, path_).ok());
  const absl::Status status = ReadCheckpointOrPrevious(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("written by a newer Slipway (checkpoint schema 1000"));
}

}  // namespace
}  // namespace slipway
