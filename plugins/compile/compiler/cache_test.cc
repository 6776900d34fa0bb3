#include "plugins/compile/compiler/cache.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/sha256.h"

namespace slipway::compile {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class CacheTest : public testing::Test {
 protected:
  CacheTest() : root_(testing::TempDir() + "/cache") { fs::remove_all(root_); }

  // An entry of one file.
  absl::StatusOr<std::string> Insert(const Cache& cache, const std::string& key,
                                     const std::string& content) {
    const std::string folder = *cache.Scratch(key);
    fs::create_directory(folder);
    std::ofstream(folder + "/forward.pt2") << content;
    std::ofstream(folder + "/package.json") << absl::StrFormat(
        R"({"schema":1,"files":{"forward.pt2":{"bytes":%d,"sha256":"%s"}}})",
        content.size(), plan::Sha256(content));
    return cache.Insert(key, folder);
  }

  // As if it had last been used so long ago.
  void Age(const Cache& cache, const std::string& key, int hours) {
    fs::last_write_time(
        cache.root() + "/entries/" + key,
        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  int FilesIn(const std::string& folder) {
    return static_cast<int>(
        std::distance(fs::directory_iterator(root_ + "/" + folder),
                      fs::directory_iterator()));
  }

  const std::string root_;
};

std::string Content(const std::string& folder) {
  std::ifstream file(folder + "/forward.pt2");
  return std::string((std::istreambuf_iterator<char>(file)),
                     std::istreambuf_iterator<char>());
}

// Runs `body` in a process of its own.
template <typename Body>
pid_t Fork(const Body& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  return pid;
}

int ExitCode(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(CacheTest, FindsWhatWasInserted) {
  const Cache cache(root_);
  EXPECT_EQ(cache.Find("a").status().code(), absl::StatusCode::kNotFound);
  const auto inserted = Insert(cache, "a", "one");
  ASSERT_TRUE(inserted.ok()) << inserted.status();
  EXPECT_EQ(*cache.Find("a"), *inserted);
  EXPECT_EQ(Content(*Cache(root_).Find("a")), "one");
  EXPECT_EQ(cache.Find("b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FilesIn("scratch"), 0);
}

TEST_F(CacheTest, KeepsTheFirstOfTwo) {
  const Cache cache(root_);
  ASSERT_TRUE(Insert(cache, "a", "one").ok());
  const auto second = Insert(cache, "a", "two");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Content(*second), "one");
  EXPECT_EQ(FilesIn("scratch"), 0);
}

TEST_F(CacheTest, RemovesDamagedEntriesAndSaysWhatWasWrong) {
  const Cache cache(root_);
  using Damage = void (*)(const std::string&);
  const struct {
    Damage damage;
    const char* message;
  } kCases[] = {
      {[](const std::string& folder) {
         std::ofstream(folder + "/forward.pt2") << "onf";
       },
       "forward.pt2 has other content than was written"},
      {[](const std::string& folder) {
         fs::resize_file(folder + "/forward.pt2", 2);
       },
       "forward.pt2 has 2 bytes"},
      {[](const std::string& folder) { fs::remove(folder + "/forward.pt2"); },
       "forward.pt2: No such file or directory"},
      {[](const std::string& folder) { fs::remove(folder + "/package.json"); },
       "package.json cannot be read"},
      {[](const std::string& folder) {
         fs::resize_file(folder + "/package.json", 20);
       },
       "package.json cannot be read"},
      {[](const std::string& folder) {
         std::ofstream(folder + "/package.json") << R"({"schema": 1})";
       },
       "package.json names no files"},
      {[](const std::string& folder) {
         std::ofstream(folder + "/package.json")
             << R"({"files": {"../../a": {"bytes": 3}}})";
       },
       "package.json is not right"},
      {[](const std::string& folder) {
         std::ofstream(folder + "/package.json")
             << R"({"files": {"forward.pt2": {"bytes": "3"}}})";
       },
       "forward.pt2 has 3 bytes"},
  };
  for (const auto& c : kCases) {
    const auto folder = Insert(cache, "a", "one");
    ASSERT_TRUE(folder.ok()) << folder.status();
    c.damage(*folder);
    const absl::Status status = cache.Find("a").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(status.message(),
              absl::StrCat("the compiled graph a was damaged, and is removed: ",
                           c.message));
    EXPECT_EQ(cache.Find("a").status().code(), absl::StatusCode::kNotFound);
  }
}

TEST_F(CacheTest, ReplacesADamagedEntry) {
  const Cache cache(root_);
  fs::resize_file(*Insert(cache, "a", "one") + "/forward.pt2", 1);
  const auto folder = Insert(cache, "a", "two");
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(Content(*folder), "two");
}

TEST_F(CacheTest, RefusesADamagedFolder) {
  const Cache cache(root_);
  const std::string folder = *cache.Scratch("a");
  fs::create_directory(folder);
  EXPECT_EQ(cache.Insert("a", folder).status().message(),
            "a compiled graph cannot be kept: package.json cannot be read");
  EXPECT_EQ(cache.Find("a").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CacheTest, RefusesKeysThatAreNoNames) {
  const Cache cache(root_);
  for (const char* key : {"", ".", "..", "a/b", "a b", ".hidden"}) {
    EXPECT_EQ(cache.Find(key).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(cache.TryLock(key).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(CacheTest, SaysThatItCannotBeWritten) {
  std::ofstream(root_) << "a file, not a folder";
  const Cache cache(root_);
  EXPECT_EQ(cache.TryLock("a").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(cache.Scratch("a").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(cache.Lock("a").status().message()),
              HasSubstr("Not a directory"));
  fs::remove(root_);
}

TEST_F(CacheTest, LetsTheLongestUnusedGo) {
  const Cache cache(root_, 1200);
  const std::string content(250, 'x');
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_TRUE(Insert(cache, key, content).ok());
  }
  Age(cache, "a", 3);
  Age(cache, "b", 2);
  Age(cache, "c", 1);
  ASSERT_TRUE(cache.Find("a").ok());  // in use
  ASSERT_TRUE(Insert(cache, "d", content).ok());
  EXPECT_TRUE(cache.Find("a").ok());
  EXPECT_EQ(cache.Find("b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(cache.Find("d").ok());
  EXPECT_EQ(FilesIn("scratch"), 0);
}

TEST_F(CacheTest, KeepsWhatIsNewHoweverLarge) {
  const Cache cache(root_, 10);
  ASSERT_TRUE(Insert(cache, "a", "one").ok());
  ASSERT_TRUE(Insert(cache, "b", "two").ok());
  EXPECT_FALSE(cache.Find("a").ok());
  EXPECT_TRUE(cache.Find("b").ok());
}

TEST_F(CacheTest, KeepsWhatIsLocked) {
  const Cache cache(root_, 10);
  ASSERT_TRUE(Insert(cache, "a", "one").ok());
  const auto lock = cache.Lock("a");
  ASSERT_TRUE(Insert(cache, "b", "two").ok());
  EXPECT_TRUE(cache.Find("a").ok());
}

TEST_F(CacheTest, RemovesScratchOfProcessesThatAreLongGone) {
  const Cache cache(root_);
  const std::string old = root_ + "/scratch/a-1";
  fs::create_directories(old);
  fs::last_write_time(
      old, fs::file_time_type::clock::now() - std::chrono::hours(25));
  fs::create_directories(root_ + "/scratch/b-1");
  ASSERT_TRUE(Insert(cache, "c", "one").ok());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(root_ + "/scratch/b-1"));
}

TEST_F(CacheTest, RemovesOnDemand) {
  const Cache cache(root_);
  ASSERT_TRUE(Insert(cache, "a", "one").ok());
  EXPECT_TRUE(cache.Remove("a").ok());
  EXPECT_EQ(cache.Find("a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(cache.Remove("a").ok());
}

TEST_F(CacheTest, LocksOutOtherProcesses) {
  const Cache cache(root_);
  auto lock = cache.TryLock("a");
  ASSERT_TRUE(lock.ok() && lock->has_value());
  const auto try_it = [&](const std::string& key) {
    return ExitCode(Fork([&] { return cache.TryLock(key)->has_value(); }));
  };
  EXPECT_EQ(try_it("a"), 0);
  EXPECT_EQ(try_it("b"), 1);
  lock->reset();
  EXPECT_EQ(try_it("a"), 1);
}

TEST_F(CacheTest, FreesTheLockOfAProcessThatIsKilled) {
  const Cache cache(root_);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = Fork([&] {
    const auto lock = cache.Lock("a");
    if (write(ready[1], "x", 1) != 1) return 1;
    pause();
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(cache.TryLock("a")->has_value());
  kill(pid, SIGKILL);
  const auto lock = cache.Lock("a");
  EXPECT_TRUE(lock.ok());
  ExitCode(pid);
}

// Many processes want the same entry at once: one makes it, all find it.
TEST_F(CacheTest, MakesAnEntryOnceForManyProcesses) {
  const Cache cache(root_);
  std::vector<pid_t> pids;
  for (int i = 0; i < 6; ++i) {
    pids.push_back(Fork([&, i] {
      const auto lock = cache.Lock("a");
      if (auto found = cache.Find("a"); found.ok()) {
        return Content(*found) == "made" ? 1 : 9;
      }
      absl::SleepFor(absl::Milliseconds(50));
      return Insert(cache, "a", "made").ok() ? 2 : 9;
    }));
  }
  int made = 0;
  int found = 0;
  for (const pid_t pid : pids) {
    const int code = ExitCode(pid);
    found += code == 1;
    made += code == 2;
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(found, 5);
}

// Entries come, go and are looked for, with no room for more than one: nobody
// ever sees a broken one.
TEST_F(CacheTest, SurvivesManyAtOnce) {
  const Cache cache(root_, 1);
  std::vector<pid_t> pids;
  for (int i = 0; i < 4; ++i) {
    pids.push_back(Fork([&, i] {
      for (int round = 0; round < 50; ++round) {
        const std::string key = absl::StrCat("k", (round + i) % 3);
        const auto lock = cache.Lock(key);
        if (!lock.ok()) return 2;
        const auto found = cache.Find(key);
        if (found.status().code() == absl::StatusCode::kDataLoss) return 3;
        if (!found.ok() && !Insert(cache, key, "content").ok()) return 4;
      }
      return 0;
    }));
  }
  for (const pid_t pid : pids) EXPECT_EQ(ExitCode(pid), 0);
}

TEST(CacheRoot, FollowsTheEnvironment) {
  const struct {
    const char* slipway;
    const char* xdg;
    const char* home;
    const char* root;
  } kCases[] = {{"/s", "/x", "/h", "/s/compiled"},
                {"", "/x", "/h", "/x/slipway/compiled"},
                {"", "", "/h", "/h/.cache/slipway/compiled"}};
  for (const auto& c : kCases) {
    setenv("SLIPWAY_CACHE", c.slipway, 1);
    setenv("XDG_CACHE_HOME", c.xdg, 1);
    setenv("HOME", c.home, 1);
    EXPECT_EQ(*Cache::DefaultRoot(), c.root);
  }
  setenv("HOME", "", 1);
  EXPECT_EQ(Cache::DefaultRoot().status().message(),
            "no folder for compiled graphs: set SLIPWAY_CACHE or HOME");
}

}  // namespace
}  // namespace slipway::compile
