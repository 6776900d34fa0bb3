#include "trainer/plan/version.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::plan {
namespace {

using ::testing::HasSubstr;

Version V(const std::string& text) {
  const absl::StatusOr<Version> version = Version::Parse(text);
  EXPECT_TRUE(version.ok()) << version.status();
  return version.value_or(Version());
}

bool InRange(const std::string& range, const std::string& version) {
  const absl::StatusOr<VersionRange> parsed = VersionRange::Parse(range);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() && parsed->Contains(V(version));
}

TEST(Version, ParsesWhatSemVerAllows) {
  EXPECT_EQ(V("1.20.3"), (Version{1, 20, 3, ""}));
  EXPECT_EQ(V("1.0.0-rc.1"), (Version{1, 0, 0, "rc.1"}));
  EXPECT_EQ(V("1.0.0+build.5"), (Version{1, 0, 0, ""}));
  EXPECT_EQ(ToString(V("1.0.0-rc.1+x")), "1.0.0-rc.1");
}

TEST(Version, RefusesWhatIsNone) {
  for (const char* text :
       {"", "1", "1.2", "1.2.", "1.2.3.4", "v1.2.3", "1.02.3", "-1.2.3",
        "1.2.3-", "1.2.3-a..b", "1.2.3-.a", "1.2.3 ", "99999999999.0.0"}) {
    const absl::StatusOr<Version> version = Version::Parse(text);
    EXPECT_EQ(version.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    EXPECT_THAT(version.status().message(),
                HasSubstr("\"" + std::string(text) + "\""));
  }
}

TEST(Version, OrdersAsSemVerDoes) {
  const std::vector<std::string> rising = {
      "0.9.9",      "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta",
      "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
      "1.0.0",      "1.0.1",        "1.1.0",         "1.10.0",
      "2.0.0"};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(V(rising[i]) <=> V(rising[j]), i <=> j)
          << rising[i] << " and " << rising[j];
    }
  }
}

struct RangeCase {
  const char* range;
  std::vector<const char*> inside;
  std::vector<const char*> outside;
};

TEST(VersionRange, ContainsWhatItsComparatorsAdmit) {
  const std::vector<RangeCase> cases = {
      {"*", {"0.0.0", "9.9.9", "1.0.0-rc.1"}, {}},
      {"^1.2", {"1.2.0", "1.9.0"}, {"1.1.9", "2.0.0"}},
      {"^1.2.3", {"1.2.3", "1.3.0"}, {"1.2.2", "2.0.0"}},
      {"^1", {"1.0.0", "1.9.9"}, {"0.9.9", "2.0.0"}},
      {"^0.2", {"0.2.0", "0.2.9"}, {"0.1.9", "0.3.0"}},
      {"^0.2.3", {"0.2.3", "0.2.9"}, {"0.2.2", "0.3.0"}},
      {"^0.0.3", {"0.0.3"}, {"0.0.2", "0.0.4"}},
      {"^0", {"0.0.1", "0.9.9"}, {"1.0.0"}},
      {"^0.0", {"0.0.1"}, {"0.1.0"}},
      {"~1.2", {"1.2.0", "1.2.9"}, {"1.3.0"}},
      {"~1.2.3", {"1.2.3", "1.2.9"}, {"1.2.2", "1.3.0"}},
      {"~1", {"1.0.0", "1.9.0"}, {"2.0.0"}},
      {">=1.1 <2", {"1.1.0", "1.9.9"}, {"1.0.9", "2.0.0"}},
      {"  >=1.1   <2 ", {"1.1.0"}, {"2.0.0"}},
      {">1.1", {"1.2.0"}, {"1.1.0", "1.1.9"}},
      {">1.1.1", {"1.1.2"}, {"1.1.1"}},
      {"<=1.1", {"1.1.9", "0.1.0"}, {"1.2.0"}},
      {"<=1.1.1", {"1.1.1"}, {"1.1.2"}},
      {"<1.1", {"1.0.9"}, {"1.1.0"}},
      {"1.2", {"1.2.0", "1.2.9"}, {"1.3.0", "1.1.0"}},
      {"=1.2.3", {"1.2.3"}, {"1.2.4", "1.2.2"}},
  };
  for (const RangeCase& c : cases) {
    for (const char* version : c.inside) {
      EXPECT_TRUE(InRange(c.range, version)) << c.range << " " << version;
    }
    for (const char* version : c.outside) {
      EXPECT_FALSE(InRange(c.range, version)) << c.range << " " << version;
    }
  }
}

TEST(VersionRange, HasAPreReleaseOnlyWhereOneOfItsNumbersIsNamed) {
  EXPECT_FALSE(InRange("^1.0", "1.2.0-rc.1"));
  EXPECT_FALSE(InRange("<2", "2.0.0-rc.1"));
  EXPECT_TRUE(InRange(">=1.2.0-rc.1", "1.2.0-rc.2"));
  EXPECT_FALSE(InRange(">=1.2.0-rc.1", "1.3.0-rc.2"));
  EXPECT_TRUE(InRange("1.2.0-rc.1", "1.2.0-rc.1"));
  EXPECT_FALSE(InRange("1.2.0-rc.1", "1.2.0"));
}

TEST(VersionRange, KnowsWhetherItTakesAnything) {
  EXPECT_TRUE(VersionRange().any());
  EXPECT_TRUE(VersionRange::Parse("*")->any());
  EXPECT_FALSE(VersionRange::Parse("^1.0")->any());
  EXPECT_EQ(VersionRange::Parse(" >=1 <2")->text(), " >=1 <2");
}

TEST(VersionRange, RefusesWhatIsNoComparator) {
  for (const char* text : {"", "  ", "one", "^", "^1.x", ">=1.2,<2", "1.2-rc",
                           "=>1", "^1.2.3.4"}) {
    EXPECT_EQ(VersionRange::Parse(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_THAT(VersionRange::Parse("^1.0 two").status().message(),
              HasSubstr("\"two\" is no range of versions"));
}

TEST(PluginApi, HasAMajorVersion) { EXPECT_GE(PluginApi(), V("1.0.0")); }

}  // namespace
}  // namespace slipway::plan
