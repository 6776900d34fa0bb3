// Nobody changes what plugins are built against without knowing it.
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plugin/entry.h"
#include "trainer/plugin/headers_hash.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;

constexpr char kRecord[] = "trainer/plugin/api.golden";

// What has to be done where the headers are not those of the record, "1.2
// <hash>"; empty if they are.
std::string ToDo(const std::string& recorded, const std::string& version,
                 const std::string& hash) {
  const std::string now = absl::StrCat(version, " ", hash);
  if (recorded == now) return "";
  const std::string record =
      absl::StrCat("then write the line \"", now, "\" into ", kRecord);
  const std::string before = recorded.substr(0, recorded.find(' '));
  if (before != version) {
    return absl::StrCat("the API was ", before, " and is ", version,
                        " now: keep the headers of ", before,
                        " as a fixture, as tests/abi/api_1_1 does, and ",
                        record);
  }
  return absl::StrCat(
      "the headers that plugins include have changed, and the API is still ",
      version, ".\n  comments alone: nothing else is to be done;",
      "\n  something was added, and plugins that were built before still run: "
      "raise kSlipwayApiMinor in trainer/plugin/entry.h (a new virtual or "
      "member is no such thing: grow by Plugin::Query);",
      "\n  anything else: raise kSlipwayApiMajor, and rename the entry;\n",
      record);
}

std::string Recorded() {
  std::string line;
  std::ifstream in(kRecord);
  while (std::getline(in, line)) {
    if (!line.empty() && line[0] != '#') return line;
  }
  return "";
}

TEST(ApiHeaders, AreThoseOfTheRecordedVersion) {
  const std::string version =
      absl::StrCat(kSlipwayApiMajor, ".", kSlipwayApiMinor);
  EXPECT_EQ(ToDo(Recorded(), version, SLIPWAY_HEADERS_HASH), "");
}

TEST(ApiHeaders, SayWhatToDoWhereTheyChanged) {
  EXPECT_EQ(ToDo("1.2 abc", "1.2", "abc"), "");
  const std::string changed = ToDo("1.2 abc", "1.2", "def");
  EXPECT_THAT(changed, HasSubstr("the API is still 1.2"));
  EXPECT_THAT(changed, HasSubstr("raise kSlipwayApiMinor"));
  EXPECT_THAT(changed, HasSubstr("raise kSlipwayApiMajor"));
  EXPECT_THAT(changed, HasSubstr("\"1.2 def\" into trainer/plugin/api.golden"));
  const std::string raised = ToDo("1.2 abc", "1.3", "def");
  EXPECT_THAT(raised, HasSubstr("keep the headers of 1.2"));
  EXPECT_THAT(raised, HasSubstr("\"1.3 def\""));
}

}  // namespace
}  // namespace slipway
