#include "trainer/plan/manifest_fields.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/manifest.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const ManifestField& field : ManifestFields()) {
    names.push_back(field.name);
  }
  return names;
}

// Of an unknown field the reader tells all those that it knows.
TEST(ManifestFields, AreThoseThatTheReaderKnows) {
  Problems problems;
  ParseManifest(RequiredFields("ema") + "hooks: [FitBegin]\nqqqqqqqqq: 1\n",
                "plugin.yaml", problems);
  ASSERT_EQ(problems.size(), 1) << FormatProblems(problems);
  const std::string start = "known are ";
  ASSERT_TRUE(problems[0].hint.starts_with(start)) << problems[0].hint;
  const std::vector<std::string> read =
      absl::StrSplit(problems[0].hint.substr(start.size()), ", ");
  EXPECT_THAT(Names(), UnorderedElementsAreArray(read));
}

TEST(ManifestFields, AreNeededWhereTheReaderNeedsThem) {
  Problems problems;
  ParseManifest("hooks: [FitBegin]", "plugin.yaml", problems);
  const std::string text = FormatProblems(problems);
  for (const ManifestField& field : ManifestFields()) {
    const bool needs = text.find("needs a value for \"" + field.name + "\"") !=
                       std::string::npos;
    EXPECT_EQ(needs, field.needed == "yes") << field.name << "\n" << text;
  }
}

TEST(ManifestFields, StandInTheReadme) {
  std::ifstream file("plugins/README.md");
  const std::string readme(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(readme, HasSubstr(ManifestFieldsMarkdown()))
      << "what `inspect --schema` prints belongs there";
}

}  // namespace
}  // namespace slipway::plan
