#include "launcher/target.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An executable file, or one that is none, in a folder of the test's own.
std::string MakeFile(const std::string& name, mode_t mode) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << "#!/bin/sh\n";
  chmod(path.c_str(), mode);
  return path;
}

TargetSearch Search() {
  return {.path = "/nonexistent:" + testing::TempDir(),
          .trainer = MakeFile("trainer", 0755)};
}

TEST(FindTarget, GivesFlagsAndOverridesToTheTrainer) {
  for (const char* word : {"--recipe=x", "-help", "epochs=3", "+a.b=/c",
                           "~plugins.ema", "dataset=x/y"}) {
    Problems problems;
    const auto target = FindTarget({word, "more"}, Search(), problems);
    ASSERT_TRUE(target) << FormatProblems(problems);
    EXPECT_TRUE(target->is_trainer) << word;
    EXPECT_THAT(target->argv, ElementsAre(Search().trainer, word, "more"));
  }
}

TEST(FindTarget, FindsProgramsByPathAndByName) {
  const std::string program = MakeFile("some_program", 0755);
  for (const std::string& word : {program, std::string("some_program")}) {
    Problems problems;
    const auto target = FindTarget({word, "--flag"}, Search(), problems);
    ASSERT_TRUE(target) << FormatProblems(problems);
    EXPECT_FALSE(target->is_trainer);
    EXPECT_TRUE(std::filesystem::equivalent(target->argv[0], program));
    EXPECT_THAT(target->arguments(), ElementsAre("--flag"));
  }
}

TEST(FindTarget, KnowsTheTrainerByItsPathToo) {
  Problems problems;
  const TargetSearch search = Search();
  const auto target =
      FindTarget({search.trainer, "--recipe=x"}, search, problems);
  ASSERT_TRUE(target);
  EXPECT_TRUE(target->is_trainer);
}

TEST(FindTarget, SaysWhatIsWrongWithAProgram) {
  const std::string text_file = MakeFile("notes.txt", 0644);
  const std::pair<std::string, std::string> cases[] = {
      {"no_such_thing", "no program \"no_such_thing\" on PATH"},
      {"./no_such_thing", "no program \"./no_such_thing\""},
      {text_file, "is no program that may be executed"},
      {testing::TempDir() + "/", "is no program that may be executed"},
  };
  for (const auto& [word, message] : cases) {
    Problems problems;
    EXPECT_FALSE(FindTarget({word}, Search(), problems));
    EXPECT_THAT(FormatProblems(problems), HasSubstr(message));
  }
}

TEST(FindTarget, MissesTheTrainer) {
  Problems problems;
  EXPECT_FALSE(FindTarget({"--recipe=x"}, {}, problems));
  EXPECT_THAT(FormatProblems(problems), HasSubstr("not beside the launcher"));
}

}  // namespace
}  // namespace slipway::launcher
