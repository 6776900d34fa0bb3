// Every subset of the five training plugins, resolved from their manifests.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/golden/golden.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/yaml.h"

namespace slipway::plan {
namespace {

struct Switch {
  std::string id;
  std::string on;  // the recipe's line that switches it on
};

const std::vector<Switch>& Switches() {
  static const auto* const switches = new std::vector<Switch>{
      {"amp", "mixed_precision: True"},
      {"compile", "torch_compile: True"},
      {"ema", "ema: True"},
      {"lr_warmup", "lr_warmup_epochs: 3"},
      {"syncbn", "sync_bn: True"},
  };
  return *switches;
}

// A server with a CPU that computes in bf16, so that only what the plugins say
// of each other shows.
Environment Server(int world_size) {
  Environment here;
  here.world_size = world_size;
  here.cpu_isa = "amx_bf16";
  here.cpu_bf16 = true;
  here.libtorch_version = "2.15.0";
  here.os = "linux";
  here.arch = "x86_64";
  return here;
}

std::vector<Manifest> Manifests() {
  Problems problems;
  std::vector<Manifest> manifests = DiscoverManifests({"plugins"}, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  EXPECT_EQ(manifests.size(), Switches().size());
  return manifests;
}

struct Outcome {
  std::string subset;
  std::optional<Plan> plan;
  Problems problems;
};

// `subset` has a bit for each of Switches().
Outcome Resolve(unsigned subset, int world_size) {
  std::vector<std::string> ids;
  std::string text = "training_hyperparams:\n  max_epochs: 10\n";
  for (size_t i = 0; i < Switches().size(); ++i) {
    if ((subset >> i & 1) == 0) continue;
    ids.push_back(Switches()[i].id);
    absl::StrAppend(&text, "  ", Switches()[i].on, "\n");
  }
  Outcome outcome = {ids.empty() ? "nothing" : absl::StrJoin(ids, " ")};
  const std::optional<recipe::Node> recipe =
      recipe::ParseYaml(text, "recipe.yaml", outcome.problems);
  outcome.plan = ResolvePlan(Manifests(), recipe.value_or(recipe::Node::Map()),
                             Server(world_size), outcome.problems);
  if (outcome.plan) outcome.problems = outcome.plan->problems;
  return outcome;
}

// "warning conflict syncbn compile".
std::string Short(const Problem& problem) {
  static const auto* const names =
      new std::map<Severity, std::string>{{Severity::kError, "error"},
                                          {Severity::kWarning, "warning"},
                                          {Severity::kNote, "note"}};
  return absl::StrCat(names->at(problem.severity), " ", problem.kind, " ",
                      absl::StrJoin(problem.plugins, " "));
}

// The subset in one line.
std::string Describe(const Outcome& outcome) {
  std::vector<std::string> parts = {
      absl::StrCat(outcome.subset, outcome.plan ? " -> runs" : " -> fails")};
  if (outcome.plan) {
    std::vector<std::string> ids;
    for (const PlannedPlugin& plugin : outcome.plan->plugins) {
      ids.push_back(plugin.id);
    }
    EXPECT_EQ(ids.empty() ? "nothing" : absl::StrJoin(ids, " "),
              outcome.subset);
    EXPECT_EQ(outcome.plan->hash.size(), 64u);
  }
  for (const Problem& problem : outcome.problems) {
    parts.push_back(Short(problem));
  }
  return absl::StrJoin(parts, "; ") + "\n";
}

int CountWith(const std::vector<Outcome>& outcomes, const std::string& what) {
  return std::count_if(
      outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
        const auto is_it = [&](const Problem& p) { return Short(p) == what; };
        return outcome.plan && std::any_of(outcome.problems.begin(),
                                           outcome.problems.end(), is_it);
      });
}

std::vector<Outcome> AllSubsets(int world_size) {
  std::vector<Outcome> outcomes;
  for (unsigned subset = 0; subset < 32; ++subset) {
    outcomes.push_back(Resolve(subset, world_size));
  }
  return outcomes;
}

int Failures(const std::vector<Outcome>& outcomes) {
  return std::count_if(outcomes.begin(), outcomes.end(),
                       [](const Outcome& o) { return !o.plan; });
}

void ExpectLines(const std::string& golden,
                 const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) text += Describe(outcome);
  ExpectGolden(golden, text);
}

// ema and syncbn may be compiled: //tests/compile proves it.
TEST(Subsets, OfTwoRanksAllRun) {
  const std::vector<Outcome> outcomes = AllSubsets(2);
  EXPECT_EQ(Failures(outcomes), 0);
  EXPECT_EQ(CountWith(outcomes, "note requires compile"), 8);
  EXPECT_EQ(CountWith(outcomes, "warning conflict syncbn"), 0);
  ExpectLines("tests/plans/world_size_2.golden", outcomes);
}

TEST(Subsets, OfOneRankWarnThatSyncbnHasNoEffect) {
  const std::vector<Outcome> outcomes = AllSubsets(1);
  EXPECT_EQ(Failures(outcomes), 0);
  EXPECT_EQ(CountWith(outcomes, "warning conflict syncbn"), 16);
  ExpectLines("tests/plans/world_size_1.golden", outcomes);
}

TEST(Subsets, AllHaveHashesOfTheirOwn) {
  std::map<std::string, std::string> by_hash;
  for (const Outcome& outcome : AllSubsets(2)) {
    if (!outcome.plan) continue;
    const auto [other, is_new] =
        by_hash.try_emplace(outcome.plan->hash, outcome.subset);
    EXPECT_TRUE(is_new) << outcome.subset << " and " << other->second;
  }
  EXPECT_EQ(by_hash.size(), 32u);
}

}  // namespace
}  // namespace slipway::plan
