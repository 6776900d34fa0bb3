#include "trainer/plan/manifest.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/golden/golden.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr char kFull[] = R"(schema: 1
id: com.acme.ema
version: 1.2.0
api: ">=1.0 <2"
library: libcom_acme_ema.so
summary: averages of weights
license: MIT
status: alpha
hooks: [AfterOptimizer, EvalBegin]
config:
  decay: {type: float, default: 1, min: 0, max: 1, unit: "", help: weight kept}
  kind: {type: string, default: exp, enum: [exp, constant], help: which}
recipe_keys:
  - {key: training_hyperparams.ema, enables: true}
  - {key: training_hyperparams.ema_params.*, weak: true}
  - {key: training_hyperparams.rate, config: decay}
components:
  callbacks: [EmaCallback]
requires: [{with: amp, version: ^1.0}]
recommends: [{with: syncbn, reason: it is better}]
conflicts: [{with: compile, when: world_size > 1, reason: r, fix: f}]
warns: [{when: device == cpu, reason: slow, advice: use a GPU}]
before: [compile]
after: [syncbn, precision]
provides: [weights]
claims: [eval_weights, {slot: loss, when: kind == exp}]
effects: {memory: +1x parameters}
state: {key: ema, version: 3, required_on_load: true}
platforms: [cpu, linux]
)";

TEST(Manifest, ReadsEveryField) {
  Problems problems;
  const std::optional<Manifest> m =
      ParseManifest(kFull, "p/plugin.yaml", problems);
  ASSERT_TRUE(m) << FormatProblems(problems);
  EXPECT_EQ(m->id, "com.acme.ema");
  EXPECT_EQ(m->version, (Version{1, 2, 0, ""}));
  EXPECT_EQ(m->api.text(), ">=1.0 <2");
  EXPECT_EQ(m->library, "libcom_acme_ema.so");
  EXPECT_EQ(m->summary, "averages of weights");
  EXPECT_EQ(m->license, "MIT");
  EXPECT_EQ(m->status, Status::kAlpha);
  EXPECT_THAT(m->hooks, ElementsAre("AfterOptimizer", "EvalBegin"));
  EXPECT_THAT(m->components,
              ElementsAre(Pair("callbacks", ElementsAre("EmaCallback"))));
  EXPECT_THAT(m->before, ElementsAre("compile"));
  EXPECT_THAT(m->after, ElementsAre("syncbn", "precision"));
  EXPECT_THAT(m->provides, ElementsAre("weights"));
  EXPECT_THAT(m->effects, ElementsAre(Pair("memory", "+1x parameters")));
  EXPECT_THAT(m->platforms, ElementsAre("cpu", "linux"));
  ASSERT_TRUE(m->state);
  EXPECT_EQ(m->state->key, "ema");
  EXPECT_EQ(m->state->version, 3);
  EXPECT_TRUE(m->state->required_on_load);
}

TEST(Manifest, ReadsRecipeKeys) {
  Problems problems;
  const Manifest m = *ParseManifest(kFull, "p/plugin.yaml", problems);
  ASSERT_EQ(m.recipe_keys.size(), 3u);
  EXPECT_TRUE(m.recipe_keys[0].enables);
  EXPECT_EQ(m.recipe_keys[0].Wildcard(), "");
  EXPECT_EQ(m.recipe_keys[1].Wildcard(), "training_hyperparams.ema_params");
  EXPECT_TRUE(m.recipe_keys[1].weak);
  EXPECT_EQ(m.recipe_keys[2].config, "decay");
  EXPECT_THAT(m.KnownRecipeKeys(),
              ElementsAre("training_hyperparams.ema",
                          "training_hyperparams.ema_params.decay",
                          "training_hyperparams.ema_params.kind",
                          "training_hyperparams.rate"));
}

TEST(Manifest, ReadsRelationsAndClaims) {
  Problems problems;
  const Manifest m = *ParseManifest(kFull, "p/plugin.yaml", problems);
  ASSERT_EQ(m.requires_.size(), 1u);
  EXPECT_EQ(m.requires_[0].with, "amp");
  EXPECT_EQ(m.requires_[0].version->text(), "^1.0");
  ASSERT_EQ(m.conflicts.size(), 1u);
  EXPECT_EQ(m.conflicts[0].when->text(), "world_size > 1");
  EXPECT_EQ(m.conflicts[0].fix, "f");
  EXPECT_EQ(m.conflicts[0].mark, (Mark{"p/plugin.yaml", 21, 13}));
  ASSERT_EQ(m.warns.size(), 1u);
  EXPECT_EQ(m.warns[0].with, "");
  EXPECT_EQ(m.warns[0].fix, "use a GPU");
  EXPECT_EQ(m.recommends[0].reason, "it is better");
  ASSERT_EQ(m.claims.size(), 2u);
  EXPECT_EQ(m.claims[0].slot, "eval_weights");
  EXPECT_FALSE(m.claims[0].when);
  EXPECT_EQ(m.claims[1].when->text(), "kind == exp");
}

TEST(Manifest, KnowsWhereItsFieldsStand) {
  Problems problems;
  const Manifest m = *ParseManifest(kFull, "p/plugin.yaml", problems);
  EXPECT_EQ(m.MarkOf("version"), (Mark{"p/plugin.yaml", 3, 10}));
  EXPECT_EQ(m.MarkOf("after.1"), (Mark{"p/plugin.yaml", 24, 17}));
  EXPECT_EQ(m.MarkOf("absent"), (Mark{"p/plugin.yaml", 0, 0}));
}

TEST(Manifest, FindsItsLibraryBesideItself) {
  Manifest m = MakeManifest("ema");
  m.path = "/opt/plugins/ema/plugin.yaml";
  EXPECT_EQ(m.LibraryPath(), "/opt/plugins/ema/libema.so");
  m.library = "../lib/libema.so";
  EXPECT_EQ(m.LibraryPath(), "/opt/plugins/lib/libema.so");
  m.library = "/usr/lib/libema.so";
  EXPECT_EQ(m.LibraryPath(), "/usr/lib/libema.so");
  m.path = "plugin.yaml";
  m.library = "libema.so";
  EXPECT_TRUE(m.LibraryPath().starts_with("/"));
}

TEST(Manifest, AnswersToItsIdAndWhatItProvides) {
  const Manifest m = MakeManifest("ema", "provides: [weights]");
  EXPECT_TRUE(m.IsOrProvides("ema"));
  EXPECT_TRUE(m.IsOrProvides("weights"));
  EXPECT_FALSE(m.IsOrProvides("eval_weights"));
}

TEST(LibraryName, HasNoDotsOfTheId) {
  EXPECT_EQ(LibraryName("ema"), "libema.so");
  EXPECT_EQ(LibraryName("com.acme.x"), "libcom_acme_x.so");
}

TEST(HookNames, AreThirtyThree) {
  EXPECT_EQ(HookNames().size(), 33u);
  EXPECT_EQ(HookNames().front(), "Configure");
  EXPECT_EQ(HookNames().back(), "Close");
}

struct BadManifest {
  std::string title;
  std::string text;
};

// The required fields of "bad" with `from` replaced by `to`, and hooks.
std::string With(const std::string& from, const std::string& to) {
  std::string text = RequiredFields("bad") + "hooks: [FitBegin]\n";
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string Plus(const std::string& more) {
  return RequiredFields("bad") + "hooks: [FitBegin]\n" + more;
}

std::vector<BadManifest> BadManifests() {
  return {
      {"is empty", ""},
      {"is a list", "[1, 2]"},
      {"does not parse", "schema: 1\nid: [bad\n"},
      {"has a field twice", Plus("hooks: [FitEnd]\n")},
      {"lacks fields", "schema: 1\nid: bad\nhooks: [FitBegin]\n"},
      {"lacks the schema", With("schema: 1\n", "")},
      {"is written in a newer schema", With("schema: 1", "schema: 2")},
      {"has an unknown field", Plus("clams: [loss]\nfoo: 1\n")},
      {"has fields of wrong types",
       With("summary: for a test", "summary: [1]") +
           "config: 3\nclaims: x\n"
           "requires: {with: amp}\nrecipe_keys: [a]\neffects: []\nstate: 1\n"},
      {"has an id with capitals", With("id: bad", "id: Bad")},
      {"has a reserved id", With("id: bad", "id: allow")},
      {"has no version", With("1.0.0", "1.0")},
      {"has a range of api that is none", With("^1.0", "latest")},
      {"takes every api", With("^1.0", "\"*\"")},
      {"names its library otherwise", With("libbad.so", "libworse.so")},
      {"has an unknown status", With("stable", "stabel")},
      {"has an unknown hook", With("FitBegin", "FitBegn, Whatever")},
      {"has a hook twice", With("FitBegin", "FitBegin, FitBegin")},
      {"has no use", With("hooks: [FitBegin]\n", "")},
      {"has unknown claims",
       Plus("claims: [eval_weight, {slot: loss, wen: x}]")},
      {"has an unknown kind of component", Plus("components: {model: [x]}")},
      {"has components that are no names",
       Plus("components: {models: [3, \"\", a, a], losses: b}")},
      {"has a condition that does not parse",
       Plus("warns: [{when: world_size > > 1, reason: r}, "
            "{when: true, reason: r}]")},
      {"has more conditions that do not parse",
       Plus(absl::StrCat("warns: [{when: world_size 2, reason: r}, {when: "
                         "\"device in [a b]\", "
                         "reason: r}, {when: \"",
                         std::string(100, '('), "\", reason: r}]"))},
      {"has versions that are none",
       With("1.0.0", "one") + "requires: [{with: amp, version: \" \"}]\n"},
      {"has relations that lack fields",
       Plus("requires: [{version: ^1.0}]\nconflicts: [{reason: r}, {with: a}]\n"
            "recommends: [{with: a, fix: x, reason: r}]")},
      {"has a relation with a wrong range",
       Plus("requires: [{with: amp, version: new}]")},
      {"names itself",
       Plus(
           "conflicts: [{with: bad, reason: r}]\nbefore: [bad]\nafter: [bad]")},
      {"has recipe keys that do nothing",
       Plus("config: {decay: {type: float, help: h}}\nrecipe_keys:\n"
            "  - {key: a.b}\n  - {key: a.c, config: decoy}\n"
            "  - {key: a.*, config: decay}\n"
            "  - {key: a.d, config: decay, when: world_size > 1}\n"
            "  - {enables: true}\n")},
      {"has an unknown platform", Plus("platforms: [gpu]")},
      {"has an unknown effect", Plus("effects: {latency: high}")},
      {"has a state without key", Plus("state: {version: 0}")},
      {"has many mistakes",
       With("status: stable", "status: [x]") + "hook: [x]\nclaims: [los]\n"},
  };
}

TEST(Manifest, SaysAllThatIsWrongAtOnce) {
  std::string text;
  for (const BadManifest& bad : BadManifests()) {
    Problems problems;
    EXPECT_FALSE(ParseManifest(bad.text, "bad/plugin.yaml", problems))
        << bad.title;
    for (const Problem& problem : problems) {
      EXPECT_EQ(problem.kind, "manifest") << problem.message;
    }
    absl::StrAppend(&text, "### ", bad.title, "\n", FormatProblems(problems),
                    "\n");
  }
  ExpectGolden("trainer/plan/testdata/manifest_messages.golden", text);
}

}  // namespace
}  // namespace slipway::plan
