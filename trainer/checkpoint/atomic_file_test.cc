#include "trainer/checkpoint/atomic_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / info->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = (folder_ / "file").string();
  }

  static std::string Content(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }

  size_t FilesInFolder() const {
    return std::distance(fs::directory_iterator(folder_), {});
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(AtomicFileTest, AppearsWithItsContentOnCommit) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append("one ").ok());
  ASSERT_TRUE(file->Append("two").ok());
  EXPECT_EQ(file->size(), 7u);
  EXPECT_FALSE(fs::exists(path_));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(path_), "one two");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(AtomicFileTest, LeavesTheOldFileWithoutCommit) {
  ASSERT_TRUE(WriteFileAtomically(path_, "old").ok());
  {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(path_);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Append("new").ok());
  }
  EXPECT_EQ(Content(path_), "old");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(AtomicFileTest, KeepsWhatItReplacesWhenAsked) {
  for (const char* content : {"one", "two", "three"}) {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(path_);
    ASSERT_TRUE(file.ok() && file->Append(content).ok());
    ASSERT_TRUE(file->Commit(Replaced::kPrevious).ok());
  }
  EXPECT_EQ(Content(path_), "three");
  EXPECT_EQ(PreviousPath(path_), (folder_ / ".file.previous").string());
  EXPECT_EQ(Content(PreviousPath(path_)), "two");
  EXPECT_EQ(FilesInFolder(), 2u);
}

TEST_F(AtomicFileTest, NamesPathAndReasonWhenTheFolderIsGone) {
  const std::string path = (folder_ / "absent" / "file").string();
  const absl::Status status = WriteFileAtomically(path, "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("No such file or directory"));
}

TEST_F(AtomicFileTest, ReportsAFullDisk) {
  // Every write to this device fails as on a full disk.
  ASSERT_EQ(symlink("/dev/full",
                    (path_ + "." + std::to_string(getpid()) + ".tmp").c_str()),
            0);
  const absl::Status status = WriteFileAtomically(path_, "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(AtomicFileTest, ReportsAFolderThatVanishes) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path_);
  ASSERT_TRUE(file.ok() && file->Append("x").ok());
  fs::remove_all(folder_);
  const absl::Status status = file->Commit();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
}

struct FaultCase {
  const char* point;
  const char* expected;
};

class FaultTest : public AtomicFileTest,
                  public testing::WithParamInterface<FaultCase> {};

// Killed at each point, the path holds the old content or the new, whole.
TEST_P(FaultTest, LeavesOneOfBothWhole) {
  ASSERT_TRUE(WriteFileAtomically(path_, "old").ok());
  const pid_t child = fork();
  if (child == 0) {
    setenv("SLIPWAY_FAULT", GetParam().point, 1);
    // A process of its own reads the variable once; this one has read it
    // already when it wrote "old".
    execl("/proc/self/exe", "child", "--write_new", path_.c_str(), nullptr);
    _exit(99);
  }
  int wait_status = 0;
  ASSERT_EQ(waitpid(child, &wait_status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(wait_status)) << "fault point never reached";
  EXPECT_EQ(WTERMSIG(wait_status), SIGKILL);
  EXPECT_EQ(Content(path_), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Points, FaultTest,
                         testing::Values(FaultCase{"write_before", "old"},
                                         FaultCase{"write_after", "old"},
                                         FaultCase{"write_before:2", "old"},
                                         FaultCase{"fsync_before", "old"},
                                         FaultCase{"fsync_after", "old"},
                                         FaultCase{"rename_before", "old"},
                                         FaultCase{"rename_after", "newer"}));

}  // namespace

int WriteNew(const std::string& path) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  return file.ok() && file->Append("new").ok() && file->Append("er").ok() &&
                 file->Commit().ok()
             ? 0
             : 1;
}

}  // namespace slipway

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--write_new") {
    return slipway::WriteNew(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
