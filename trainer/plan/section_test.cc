#include "trainer/plan/section.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kIds = {"ema", "amp", "com.acme", "com.acme.x"};

Section Read(const recipe::Node& recipe) {
  Problems problems;
  const Section section = ReadSection(recipe, kIds, {}, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return section;
}

Section Read(const std::string& plugins) {
  return Read(MakeRecipe("plugins: " + plugins));
}

std::vector<std::string> KeysOf(const SectionEntry& entry) {
  std::vector<std::string> keys;
  for (const auto& own : entry.config) keys.push_back(own.key);
  return keys;
}

TEST(Section, IsEmptyWithoutOne) {
  EXPECT_THAT(Read(MakeRecipe("{}")).entries, IsEmpty());
  EXPECT_THAT(Read("null").entries, IsEmpty());
  EXPECT_THAT(Read("{}").entries, IsEmpty());
}

TEST(Section, ReadsAnEntrysConfigurationInEveryForm) {
  EXPECT_THAT(KeysOf(Read("{ema: {decay: 1, beta: 2}}").entries.at(0)),
              ElementsAre("decay", "beta"));
  EXPECT_THAT(KeysOf(Read("{ema: {config: {decay: 1}}}").entries.at(0)),
              ElementsAre("decay"));
  EXPECT_THAT(KeysOf(Read("{ema: {config: {decay: 1}, version: ^1, beta: 2}}")
                         .entries.at(0)),
              ElementsAre("decay", "beta"));
  EXPECT_THAT(KeysOf(Read("{ema: null}").entries.at(0)), IsEmpty());
}

TEST(Section, ReadsVersionAndPolicy) {
  const Section section = Read("{ema: {version: ^1.2, on_error: warn}}");
  const SectionEntry& entry = section.entries.at(0);
  ASSERT_TRUE(entry.version);
  EXPECT_EQ(entry.version->text(), "^1.2");
  EXPECT_EQ(entry.version_mark, (Mark{"recipe.yaml", 1, 26}));
  EXPECT_EQ(entry.on_error, OnError::kWarn);
  EXPECT_FALSE(Read("{ema: {}}").entries.at(0).version);
}

TEST(Section, KeepsTheRecipesOrder) {
  const Section section = Read("{com.acme.x: {}, ema: false, amp: true}");
  ASSERT_EQ(section.entries.size(), 3u);
  EXPECT_EQ(section.entries[0].id, "com.acme.x");
  EXPECT_FALSE(section.entries[1].on);
  EXPECT_TRUE(section.entries[2].on);
  EXPECT_TRUE(section.SwitchesOff("ema"));
  EXPECT_FALSE(section.SwitchesOff("amp"));
  EXPECT_FALSE(section.SwitchesOff("absent"));
}

TEST(Section, FindsIdsWithDotsBelowTheirFirstWord) {
  const Section section = Read("{com: {acme: {x: 1}}}");
  ASSERT_EQ(section.entries.size(), 1u);
  // The shorter id is one, too, and takes what stands there.
  EXPECT_EQ(section.entries[0].id, "com.acme");
  EXPECT_THAT(KeysOf(section.entries[0]), ElementsAre("x"));
}

TEST(Section, TellsTheLatestOfAnEntrysPlaces) {
  const recipe::Node recipe =
      Compose({{"a.yaml", "plugins:\n  ema: {decay: 1}\n  amp: {}"},
               {"b.yaml", "plugins: {ema: {beta: 2}}"}});
  const Section section = Read(recipe);
  EXPECT_EQ(section.entries[0].order, 2);
  EXPECT_EQ(section.entries[0].where, (Mark{"b.yaml", 1, 23}));
  EXPECT_EQ(section.entries[1].order, 1);
  EXPECT_EQ(section.entries[1].where, (Mark{"a.yaml", 3, 3}));
}

TEST(Section, ReadsPermissions) {
  const Section section =
      Read("{allow: [\"ema+amp: no: harm\", {amp+ema: why}]}");
  ASSERT_EQ(section.allow.size(), 2u);
  EXPECT_EQ(section.allow[0].text, "ema+amp: no: harm");
  EXPECT_EQ(section.allow[1].text, "amp+ema: why");
  for (const Allowance& allowance : section.allow) {
    EXPECT_TRUE(allowance.Concerns("ema", "amp"));
    EXPECT_TRUE(allowance.Concerns("amp", "ema"));
    EXPECT_FALSE(allowance.Concerns("amp", "amp"));
    EXPECT_FALSE(allowance.Concerns("ema", "compile"));
  }
}

TEST(Section, ReadsWhetherRequirementsAreAdded) {
  EXPECT_TRUE(Read("{auto_require: true}").auto_require);
  EXPECT_FALSE(Read("{auto_require: null, path: [p]}").auto_require);
}

TEST(WhatThereIs, ListsPluginsAndFolders) {
  EXPECT_EQ(WhatThereIs({"a", "b"}, {"/p", "/q"}),
            "found are a, b; searched /p, /q");
  EXPECT_EQ(WhatThereIs({}, {"/p"}), "no plugin was found; searched /p");
  EXPECT_EQ(WhatThereIs({}, {}), "no plugin was found");
}

}  // namespace
}  // namespace slipway::plan
