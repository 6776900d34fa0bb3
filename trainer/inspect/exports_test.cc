#include "trainer/inspect/exports.h"

#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::inspect {
namespace {

using ::testing::ElementsAre;

constexpr char kEma[] = "plugins/ema/libema.so";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string FileOf(const std::string& bytes) {
  const std::string path = testing::TempDir() + "/library.so";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ExportedSymbols, OfAPluginAreItsEntryAlone) {
  const auto names = ExportedSymbols(kEma);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre("slipway_plugin_entry_v1"));
}

TEST(ExportedSymbols, RefusesWhatIsNoLibrary) {
  EXPECT_FALSE(ExportedSymbols("nowhere.so").ok());
  EXPECT_FALSE(ExportedSymbols(FileOf("")).ok());
  EXPECT_FALSE(ExportedSymbols(FileOf(std::string(1000, 'x'))).ok());
}

// Only that none of them reads beyond the end.
TEST(ExportedSymbols, SurvivesDamage) {
  const std::string whole = ReadAll(kEma);
  ASSERT_GT(whole.size(), 4096);
  for (size_t part = 1; part < 16; ++part) {
    (void)ExportedSymbols(FileOf(whole.substr(0, whole.size() * part / 16)));
  }
  // The head, a byte at a time, and what it leads to.
  for (size_t at = 4; at < 64; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(0xff);
    (void)ExportedSymbols(FileOf(damaged));
  }
}

}  // namespace
}  // namespace slipway::inspect
