#include "launcher/ray/shipment.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ShipmentTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::canonical(testing::TempDir()).string() + "/shipment";
    fs::remove_all(folder_);
    for (const char* name : {"train", "config.yaml", "recipes/a.yaml",
                             "recipes/group/b.yaml", "runfiles/plugin.so"}) {
      const fs::path path = folder_ + "/" + name;
      fs::create_directories(path.parent_path());
      std::ofstream(path) << name;
    }
  }

  std::string In(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(ShipmentTest, IsTheProgramAndTheFilesItsCommandLineNames) {
  const std::vector<std::string> argv = {In("train"), "--epochs=3",
                                         "--config=" + In("config.yaml"),
                                         "no_file", "a.b=c"};
  const Shipment shipment = FindShipment(argv, {});
  EXPECT_THAT(shipment.files, ElementsAre(In("config.yaml"), In("train")));
  EXPECT_THAT(
      Moved(argv, shipment, "/r"),
      ElementsAre("/r" + In("train"), "--epochs=3",
                  "--config=/r" + In("config.yaml"), "no_file", "a.b=c"));
}

TEST_F(ShipmentTest, LeavesTheSystemsProgramsWhereTheyAre) {
  const std::vector<std::string> argv = {"/bin/sh", In("train")};
  const Shipment shipment = FindShipment(argv, {});
  EXPECT_THAT(shipment.files, ElementsAre(In("train")));
  EXPECT_THAT(Moved(argv, shipment, "/r"),
              ElementsAre("/bin/sh", "/r" + In("train")));
}

TEST_F(ShipmentTest, HasTheFoldersThatAreSearched) {
  const std::vector<std::string> argv = {
      In("train"), "--recipe_path=" + In("recipes") + ":/no/such/folder"};
  const Shipment shipment = FindShipment(argv, {In("runfiles")});
  EXPECT_THAT(shipment.files,
              ElementsAre(In("recipes/a.yaml"), In("recipes/group/b.yaml"),
                          In("runfiles/plugin.so"), In("train")));
  EXPECT_EQ(Moved(argv, shipment, "/r")[1],
            "--recipe_path=/r" + In("recipes") + ":/no/such/folder");
}

TEST_F(ShipmentTest, NamesRelativePathsByTheirOwn) {
  ASSERT_EQ(chdir(folder_.c_str()), 0);
  const std::vector<std::string> argv = {"/usr/bin/python3", "train"};
  EXPECT_THAT(Moved(argv, FindShipment(argv, {}), "/r"),
              ElementsAre("/usr/bin/python3", "/r" + In("train")));
}

TEST(OwnLibraries, AreThoseThatAMachineMayLack) {
  const std::vector<std::string> libraries = OwnLibraries();
  EXPECT_THAT(libraries, Contains(HasSubstr("libabsl")));
  EXPECT_THAT(libraries, Not(Contains(HasSubstr("/libc.so"))));
}

}  // namespace
}  // namespace slipway::launcher
