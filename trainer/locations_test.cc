#include "trainer/locations.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class LocationsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = (fs::path(testing::TempDir()) / test->name()).string();
    fs::remove_all(root_);
  }
  void MakeFolder(const std::string& path) {
    fs::create_directories(root_ + "/" + path);
  }
  std::string In(const std::string& path) { return root_ + "/" + path; }

  std::string root_;
};

TEST_F(LocationsTest, PrefersTheRunfilesItIsToldOf) {
  MakeFolder("bin/trainer/trainer.runfiles/slipway/plugins");
  MakeFolder("test.runfiles/slipway/plugins");
  MakeFolder("test.runfiles/other");
  const Locations here =
      FindLocations(In("bin/trainer/trainer"), In("test.runfiles").c_str());
  EXPECT_THAT(here.plugin_folders,
              ElementsAre(In("test.runfiles/slipway/plugins")));
}

TEST_F(LocationsTest, PrefersRunfiles) {
  MakeFolder("bin/trainer/trainer.runfiles/slipway/recipes");
  MakeFolder("bin/trainer/trainer.runfiles/slipway/plugins");
  MakeFolder("bin/plugins");
  const Locations here = FindLocations(In("bin/trainer/trainer"), nullptr);
  EXPECT_THAT(here.recipe_folders,
              ElementsAre(In("bin/trainer/trainer.runfiles/slipway/recipes")));
  EXPECT_THAT(here.plugin_folders,
              ElementsAre(In("bin/trainer/trainer.runfiles/slipway/plugins")));
}

TEST_F(LocationsTest, FindsPluginsInTheBuildFolder) {
  MakeFolder("bin/plugins");
  const Locations here = FindLocations(In("bin/trainer/trainer"), nullptr);
  EXPECT_THAT(here.plugin_folders, ElementsAre(In("bin/plugins")));
  EXPECT_THAT(here.recipe_folders, IsEmpty());
}

TEST_F(LocationsTest, FindsAnInstalledPrefix) {
  MakeFolder("share/slipway/recipes");
  MakeFolder("lib/slipway/plugins");
  const Locations here = FindLocations(In("bin/slipway-trainer"), nullptr);
  EXPECT_THAT(here.recipe_folders, ElementsAre(In("share/slipway/recipes")));
  EXPECT_THAT(here.plugin_folders, ElementsAre(In("lib/slipway/plugins")));
}

TEST_F(LocationsTest, FindsTheTrainerWhereverItLies) {
  EXPECT_EQ(FindTrainer(In("bin/launcher/launcher"), nullptr), "");
  for (const char* path : {
           "bin/trainer/trainer",   // bazel-bin
           "bin/launcher/trainer",  // a prefix
           "bin/launcher/launcher.runfiles/slipway/trainer/trainer",
       }) {
    MakeFolder(fs::path(path).parent_path().string());
    std::ofstream(In(path)) << "#!";
    EXPECT_EQ(FindTrainer(In("bin/launcher/launcher"), nullptr), In(path));
  }
}

TEST(PluginFolders, SearchTheFlagThenTheEnvironmentThenTheProgram) {
  Locations here;
  here.plugin_folders = {"/program"};
  EXPECT_THAT(PluginFolders({"/flag"}, "/a::/b", here),
              ElementsAre("/flag", "/a", "/b", "/program"));
  EXPECT_THAT(PluginFolders({}, nullptr, here), ElementsAre("/program"));
}

TEST(ExecutablePath, IsThisTest) {
  EXPECT_TRUE(fs::exists(ExecutablePath()));
  EXPECT_EQ(fs::path(ExecutablePath()).filename(), "locations_test");
}

}  // namespace
}  // namespace slipway
