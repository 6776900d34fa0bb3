#include "trainer/checkpoint/background_writer.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string EmptyFolder() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(testing::TempDir()) / info->name();
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

SaveJob Job(const at::Tensor& tensor, std::vector<SaveFile> files) {
  SaveJob job;
  job.tree = PickleValue::Dict();
  job.tree.Set("weight", job.tensors.Add(tensor));
  job.files = std::move(files);
  return job;
}

std::vector<SaveJob> Jobs(SaveJob job) {
  std::vector<SaveJob> jobs;
  jobs.push_back(std::move(job));
  return jobs;
}

at::Tensor Read(const std::string& path) {
  absl::StatusOr<TensorFile> file = TensorFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  return *file->Load(*file->tree().Find("weight")->tensor());
}

TEST(BackgroundWriter, WritesTheStateAsItWasWhenItStarted) {
  const std::string path = EmptyFolder() + "/a.pth";
  BackgroundWriter writer;
  at::Tensor weight = at::full({1 << 20}, 1.0);
  ASSERT_TRUE(writer.Start(Jobs(Job(weight, {{path}}))).ok());
  weight.fill_(2);
  ASSERT_TRUE(writer.Wait().ok());
  EXPECT_TRUE(at::equal(Read(path), at::ones({1 << 20})));
}

TEST(BackgroundWriter, KeepsStatesApartThatFollowEachOther) {
  const std::string folder = EmptyFolder();
  BackgroundWriter writer;
  at::Tensor weight = at::ones({100'000});
  std::vector<std::string> finished;
  for (int i = 0; i < 8; ++i) {
    weight.fill_(i);
    const std::string path = folder + "/" + std::to_string(i);
    ASSERT_TRUE(writer.Start(Jobs(Job(weight, {{path}}))).ok());
  }
  ASSERT_TRUE(writer.Wait().ok());
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Read(folder + "/" + std::to_string(i))[99'999].item<int>(), i);
  }
}

TEST(BackgroundWriter, TellsWhichFilesAreWholeOnceAndInOrder) {
  const std::string folder = EmptyFolder();
  BackgroundWriter writer;
  EXPECT_TRUE(writer.TakeFinished().empty());
  const std::string a = folder + "/a", b = folder + "/b", c = folder + "/c";
  std::vector<SaveJob> jobs = Jobs(Job(at::ones({3}), {{a}, {b}}));
  jobs.push_back(Job(at::ones({4}), {{c}}));
  ASSERT_TRUE(writer.Start(std::move(jobs)).ok());
  ASSERT_TRUE(writer.Wait().ok());
  EXPECT_THAT(writer.TakeFinished(), ElementsAre(a, b, c));
  EXPECT_TRUE(writer.TakeFinished().empty());
  EXPECT_EQ(Read(c).numel(), 4);
}

TEST(BackgroundWriter, KeepsThePreviousFileWhenAsked) {
  const std::string path = EmptyFolder() + "/latest";
  BackgroundWriter writer;
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(
        writer.Start(Jobs(Job(at::full({2}, i), {{path, Replaced::kPrevious}})))
            .ok());
  }
  ASSERT_TRUE(writer.Wait().ok());
  EXPECT_EQ(Read(path)[0].item<int>(), 2);
  EXPECT_EQ(Read(PreviousPath(path))[0].item<int>(), 1);
}

TEST(BackgroundWriter, ReturnsAFailureFromThenOn) {
  const std::string folder = EmptyFolder();
  BackgroundWriter writer;
  const std::string good = folder + "/good";
  ASSERT_TRUE(writer
                  .Start(Jobs(Job(at::ones({3}),
                                  {{good}, {"/nowhere/x"}, {folder + "/y"}})))
                  .ok());
  const absl::Status failed = writer.Wait();
  EXPECT_EQ(failed.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("/nowhere/x"));
  EXPECT_EQ(writer.status(), failed);
  EXPECT_THAT(writer.TakeFinished(), ElementsAre(good));
  EXPECT_FALSE(fs::exists(folder + "/y"));
  EXPECT_EQ(writer.Start(Jobs(Job(at::ones({3}), {{good}}))), failed);
}

TEST(BackgroundWriter, FinishesBeforeItIsDestroyed) {
  const std::string path = EmptyFolder() + "/a";
  {
    BackgroundWriter writer;
    ASSERT_TRUE(writer.Start(Jobs(Job(at::ones({1 << 20}), {{path}}))).ok());
  }
  EXPECT_EQ(Read(path).numel(), 1 << 20);
}

// What several jobs have in common with the ones before finds its memory; what
// they have not, does not confuse them.
TEST(BackgroundWriter, WritesStatesWhoseTensorsChange) {
  const std::string folder = EmptyFolder();
  BackgroundWriter writer;
  for (int64_t size : {5, 5, 7, 0, 5}) {
    const at::Tensor weight = at::full({size}, size, at::kLong);
    std::vector<SaveJob> jobs = Jobs(Job(weight, {{folder + "/a"}}));
    jobs.push_back(Job(weight.add(1), {{folder + "/b"}}));
    ASSERT_TRUE(writer.Start(std::move(jobs)).ok());
    ASSERT_TRUE(writer.Wait().ok());
    EXPECT_TRUE(at::equal(Read(folder + "/a"), weight));
    EXPECT_TRUE(at::equal(Read(folder + "/b"), weight.add(1)));
  }
}

}  // namespace
}  // namespace slipway
