#include "trainer/run_folder.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = (fs::path(testing::TempDir()) / test->name()).string();
    fs::remove_all(root_);
    request_.ckpt_root_dir = root_;
    request_.experiment_name = "digits";
  }
  std::string Create(absl::Time now) {
    const std::string path = RunFolderPath(request_, now);
    const absl::StatusOr<RunFolderLock> lock =
        CreateRunFolder(path, request_, {{"recipe.yaml", "a: 1\n"}});
    EXPECT_TRUE(lock.ok()) << lock.status();
    return path;
  }
  static std::string Read(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  std::string root_;
  RunFolderRequest request_;
};

TEST_F(RunFolderTest, IsNamedByTheTime) {
  const std::string path =
      RunFolderPath(request_, absl::FromUnixMicros(1767323045000123));
  const std::regex form(".*/digits/RUN_\\d{8}_\\d{6}_000123");
  EXPECT_TRUE(std::regex_match(path, form)) << path;
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RunFolderTest, HasItsFilesAndIsTheLatest) {
  const std::string first = Create(absl::FromUnixSeconds(1767323045));
  EXPECT_EQ(Read(first + "/recipe.yaml"), "a: 1\n");
  EXPECT_EQ(fs::canonical(root_ + "/digits/latest"), fs::canonical(first));
  const std::string second = Create(absl::FromUnixSeconds(1767323046));
  EXPECT_NE(first, second);
  EXPECT_EQ(fs::canonical(root_ + "/digits/latest"), fs::canonical(second));
}

TEST_F(RunFolderTest, IsExactlyTheOneAskedFor) {
  request_.run_dir = root_ + "/mine/./here";
  EXPECT_EQ(Create(absl::Now()), root_ + "/mine/here");
  EXPECT_FALSE(fs::exists(root_ + "/mine/latest"));
}

TEST_F(RunFolderTest, NeverTakesAnotherRunsFolder) {
  request_.run_dir = root_ + "/mine";
  const std::string path = Create(absl::Now());
  std::ofstream(path + "/metrics.jsonl") << "{}\n";
  const absl::Status status = CreateRunFolder(path, request_, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("holds a run already"));
}

TEST_F(RunFolderTest, TellsWhyItCannotBeCreated) {
  request_.run_dir = "/proc/nothing/here";
  const absl::Status status =
      CreateRunFolder(request_.run_dir, request_, {}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/nothing/here"));
}

TEST_F(RunFolderTest, BelongsToOneRunAtATime) {
  request_.run_dir = root_ + "/mine";
  absl::StatusOr<RunFolderLock> first =
      CreateRunFolder(request_.run_dir, request_, {});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto again = [&] {
    return CreateRunFolder(request_.run_dir, request_, {}, true).status();
  };
  EXPECT_EQ(again().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again().message()), HasSubstr("another run writes"));
  RunFolderLock moved = *std::move(first);
  EXPECT_FALSE(again().ok());
  { const RunFolderLock last = std::move(moved); }
  EXPECT_TRUE(again().ok()) << again();
}

TEST_F(RunFolderTest, IsTidiedWhenARunGoesOnInIt) {
  const std::string path = Create(absl::Now());
  for (const char* name : {"metrics.jsonl", "result.json", "ckpt_latest.pth",
                           "ckpt_latest.pth.4711.tmp"}) {
    std::ofstream(path + "/" + name) << "x";
  }
  ASSERT_TRUE(CreateRunFolder(path, request_, {}, true).ok());
  EXPECT_TRUE(fs::exists(path + "/ckpt_latest.pth"));
  EXPECT_TRUE(fs::exists(path + "/metrics.jsonl"));
  EXPECT_FALSE(fs::exists(path + "/result.json"));
  EXPECT_FALSE(fs::exists(path + "/ckpt_latest.pth.4711.tmp"));
}

TEST_F(RunFolderTest, AreListedByAge) {
  const std::string older = Create(absl::FromUnixSeconds(1767323045));
  const std::string newer = Create(absl::FromUnixSeconds(1767323046));
  fs::create_directories(root_ + "/digits/notes");
  EXPECT_THAT(RunsWith(request_, "ckpt_latest.pth"), testing::IsEmpty());
  for (const std::string& run : {newer, older, root_ + "/digits/notes"}) {
    std::ofstream(run + "/ckpt_latest.pth") << "x";
  }
  EXPECT_THAT(RunsWith(request_, "ckpt_latest.pth"),
              testing::ElementsAre(fs::path(older).filename(),
                                   fs::path(newer).filename()));
  request_.experiment_name = "nothing";
  EXPECT_THAT(RunsWith(request_, "ckpt_latest.pth"), testing::IsEmpty());
}

TEST_F(RunFolderTest, GetsTheResultAtTheEnd) {
  const std::string folder = Create(absl::Now());
  const std::string path = folder + "/result.json";
  absl::StatusOr<RunFolderLock> lock = RunFolderLock::Take(folder);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EndReport end;
  end.result = {{"schema", 1}, {"recipe", "bad \xff byte"}};
  EXPECT_TRUE(ResultReporter(path, *std::move(lock)).OnEnd(end).ok());
  EXPECT_EQ(nlohmann::json::parse(Read(path))["schema"], 1);
}

}  // namespace
}  // namespace slipway
