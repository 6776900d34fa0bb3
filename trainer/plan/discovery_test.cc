#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/manifest.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A folder of the test's own, empty at first.
class Discovery : public ::testing::Test {
 protected:
  Discovery() : root_(fs::path(::testing::TempDir()) / "discovery") {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Discovery() override { fs::remove_all(root_); }

  std::string Path(const std::string& relative) {
    return (root_ / relative).string();
  }

  void Write(const std::string& folder, const std::string& text) {
    fs::create_directories(root_ / folder);
    std::ofstream(root_ / folder / "plugin.yaml") << text;
  }

  void WritePlugin(const std::string& folder, const std::string& id) {
    Write(folder, RequiredFields(id) + "hooks: [FitBegin]\n");
  }

  std::vector<std::string> Ids(const std::vector<std::string>& folders) {
    std::vector<std::string> ids;
    for (const Manifest& manifest : DiscoverManifests(folders, problems_)) {
      ids.push_back(manifest.id);
    }
    return ids;
  }

  // The problems' text, with "ROOT" for the test's folder.
  std::string Said() {
    return absl::StrReplaceAll(FormatProblems(problems_),
                               {{root_.string(), "ROOT"}});
  }

  const fs::path root_;
  Problems problems_;
};

TEST_F(Discovery, FindsAFoldersOwnManifestAndThoseOneLevelBelow) {
  WritePlugin("all/zeta", "zeta");
  WritePlugin("all/alpha", "alpha");
  WritePlugin("one", "one");
  fs::create_directories(root_ / "all" / "empty");
  EXPECT_THAT(Ids({Path("one"), Path("all")}),
              ElementsAre("alpha", "one", "zeta"));
  EXPECT_EQ(Said(), "");
}

TEST_F(Discovery, LooksNoDeeper) {
  WritePlugin("all/group/deep", "deep");
  EXPECT_THAT(Ids({Path("all")}), IsEmpty());
  EXPECT_EQ(Said(), "");
}

TEST_F(Discovery, CountsAFileOnceThatIsReachedTwice) {
  WritePlugin("all/ema", "ema");
  fs::create_directory_symlink(root_ / "all", root_ / "again");
  EXPECT_THAT(Ids({Path("all"), Path("all/ema"), Path("again"), Path("all/.")}),
              ElementsAre("ema"));
  EXPECT_EQ(Said(), "");
}

TEST_F(Discovery, NamesBothFilesOfOneId) {
  WritePlugin("a/ema", "ema");
  WritePlugin("b/other", "ema");
  EXPECT_THAT(Ids({Path("a"), Path("b")}), ElementsAre("ema"));
  EXPECT_EQ(Said(), R"(error: two plugins have the id "ema"
  detail: version 1.0.0 and version 1.0.0
  where:  ROOT/a/ema/plugin.yaml:2:5, ROOT/b/other/plugin.yaml:2:5
  hint:   take one of their folders out of the search path
)");
}

TEST_F(Discovery, GoesOnAfterABadManifest) {
  Write("all/bad", "id: bad\n");
  WritePlugin("all/good", "good");
  EXPECT_THAT(Ids({Path("all")}), ElementsAre("good"));
  EXPECT_TRUE(HasErrors(problems_));
}

TEST_F(Discovery, SaysWhichFolderCannotBeRead) {
  EXPECT_THAT(Ids({Path("absent")}), IsEmpty());
  EXPECT_EQ(Said(),
            "error: the plugin folder \"ROOT/absent\" cannot be read: No such "
            "file or directory\n");
}

TEST_F(Discovery, ReadsOneManifestByItsPath) {
  WritePlugin("ema", "ema");
  EXPECT_TRUE(ReadManifest(Path("ema/plugin.yaml"), problems_));
  EXPECT_EQ(Said(), "");
  EXPECT_FALSE(ReadManifest(Path("ema/absent.yaml"), problems_));
  EXPECT_TRUE(HasErrors(problems_));
}

}  // namespace
}  // namespace slipway::plan
