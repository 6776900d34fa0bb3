#include "plugins/testing/library_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kFolder[] = "plugins/testing/failing/";

TEST(LibraryFile, OfAPluginHasItsEntryAlone) {
  const auto file = ReadLibraryFile(std::string(kFolder) + "libfailing.so");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->exports, ElementsAre("slipway_plugin_entry_v1"));
  EXPECT_THAT(file->needed, Contains("libslipway_core.so"));
  EXPECT_THAT(file->paths, IsEmpty());
  EXPECT_THAT(file->imports, Contains(StartsWith("_ZN7slipway6PluginC")));
  EXPECT_GT(file->defined.size(), 10);
}

TEST(LibraryFile, ShowsWhatAVersionScriptWouldHide) {
  const auto file = ReadLibraryFile(std::string(kFolder) + "libexporting.so");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->exports, Contains("one_too_many"));
  EXPECT_THAT(file->imports, Contains("exit"));
}

TEST(LibraryFile, IsRefusedWhereItIsNoneOrCutShort) {
  const std::string path = ::testing::TempDir() + "/library";
  EXPECT_FALSE(ReadLibraryFile(path + "_that_is_not_there").ok());
  std::ifstream in(std::string(kFolder) + "libfailing.so", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (const size_t size : {size_t{0}, size_t{10}, size_t{64}, bytes.size() / 2,
                            bytes.size() - 1}) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, size);
    // What there is may be read; nothing beyond it.
    const auto file = ReadLibraryFile(path);
    EXPECT_TRUE(size > 64 || !file.ok()) << size;
  }
}

}  // namespace
}  // namespace slipway::testing
