#include "launcher/supervisor/held_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

TEST(HeldFolder, VanishesWithTheObject) {
  std::string path;
  {
    absl::StatusOr<HeldFolder> folder =
        HeldFolder::Make(testing::TempDir() + "/vanishes-");
    ASSERT_TRUE(folder.ok()) << folder.status();
    const HeldFolder moved = *std::move(folder);
    path = moved.path();
    std::ofstream(path + "/file") << "content";
    ASSERT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(HeldFolder, IsRemovedByTheNextOneIfItsHolderWasKilled) {
  const std::string prefix = testing::TempDir() + "/killed-";
  absl::StatusOr<HeldFolder> mine = HeldFolder::Make(prefix);
  ASSERT_TRUE(mine.ok());
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<HeldFolder> its = HeldFolder::Make(prefix);
    _exit(its.ok() && fs::exists(mine->path()) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto count = [] {
    int folders = 0;
    for (const auto& entry : fs::directory_iterator(testing::TempDir())) {
      const std::string name = entry.path().filename();
      folders += name.rfind("killed-", 0) == 0 ? 1 : 0;
    }
    return folders;
  };
  EXPECT_EQ(count(), 2);
  const absl::StatusOr<HeldFolder> next = HeldFolder::Make(prefix);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(count(), 2);  // mine, and this one
  EXPECT_TRUE(fs::exists(mine->path()));
}

TEST(HeldFolder, SaysWhereItCannotBe) {
  EXPECT_FALSE(HeldFolder::Make("/proc/no/such/folder-").ok());
}

}  // namespace
}  // namespace slipway::launcher
