// What inspect says of a few made-up plugins, word for word.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/golden/golden.h"
#include "trainer/inspect/catalog.h"
#include "trainer/inspect/describe.h"
#include "trainer/inspect/graph.h"
#include "trainer/inspect/why.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::inspect {
namespace {

using plan::MakeManifest;
using plan::MakeRecipe;
using plan::Manifest;

// Every field that there is.
constexpr char kAnchor[] = R"(version: 1.2.0
status: alpha
hooks: [FitBegin, StepEnd]
config:
  depth: {type: float, default: 3.5, min: 0, max: 11, unit: m, help: how deep}
  kind: {type: string, default: plough, enum: [plough, fluke], help: its form}
  name: {type: string, help: what it is called}
recipe_keys:
  - {key: training_hyperparams.anchor, enables: true}
  - {key: training_hyperparams.anchor_params.*}
  - {key: training_hyperparams.depth, config: depth, weak: true}
  - {key: training_hyperparams.tide, enables: true, when: world_size > 1}
components: {callbacks: [Drop, Weigh], schedules: [Drift]}
requires: [{with: chain, version: ^1.0, reason: it hangs on one}]
recommends: [{with: buoy, reason: it is found again, advice: add one}]
conflicts:
  - {with: sail, when: anchor.depth > 5, reason: it holds, fix: "plugins.anchor.depth=5"}
  - {when: device == cuda, reason: too hot, fix: "--device=cpu"}
warns:
  - {with: sail, when: anchor.kind == fluke, reason: it drags, advice: take a plough}
before: [sail]
after: [chain]
provides: [mooring]
claims: [eval_weights, {slot: optimizer_step, when: anchor.depth > 8}]
effects: {memory: "+1x parameters", speed: none}
state: {key: anchor, version: 2, required_on_load: true}
platforms: [cpu, linux]
)";

constexpr char kSail[] = R"(
hooks: [FitBegin]
claims: [lr_schedule, {slot: optimizer_step, when: sail.area > 3}]
config: {area: {type: int, default: 2, help: h}}
)";

std::vector<Manifest> Fleet() {
  return {MakeManifest("anchor", kAnchor),
          MakeManifest("chain", "summary: links"),
          MakeManifest("com.acme.buoy", "status: planned"),
          MakeManifest("engine", "conflicts: [{with: sail, reason: smoke}]"),
          MakeManifest("sail", kSail)};
}

std::string Normalised(std::string text) {
  const std::string here = std::filesystem::current_path().string();
  return absl::StrReplaceAll(std::move(text), {{here, "$HERE"}});
}

plan::Environment Here() {
  plan::Environment here;
  here.os = "linux";
  here.arch = "x86_64";
  return here;
}

std::string Why(const std::string& first, const std::string& second,
                const std::string& more = "") {
  const std::vector<Manifest> fleet = Fleet();
  recipe::Node recipe = RecipeOf(first, second);
  const recipe::Node changes = MakeRecipe(more);
  for (const auto& entry : changes.entries()) {
    recipe.Find("plugins")->Set(entry.key, entry.value);
  }
  const Manifest* found[2] = {};
  for (const Manifest& manifest : fleet) {
    if (manifest.id == first) found[0] = &manifest;
    if (manifest.id == second) found[1] = &manifest;
  }
  const std::vector<std::string> searched = {"plugins"};
  const Together answer =
      AskWhy(*found[0], *found[1], {fleet, recipe, Here(), searched});
  EXPECT_EQ(answer.together, !HasErrors(answer.problems));
  EXPECT_EQ(ToJson(answer)["together"], answer.together);
  return "### " + first + " " + second + " " + more + "\n" +
         FormatTogether(answer) + FormatProblems(answer.problems) + "\n";
}

TEST(Catalog, ListsPlugins) {
  const std::vector<Found> found = WithOrigins(
      Fleet(),
      {{"flag", {"elsewhere", "plugins/chain/"}}, {"program", {"plugins"}}});
  ExpectGolden("trainer/inspect/testdata/catalog.golden", FormatCatalog(found));
  ExpectGolden("trainer/inspect/testdata/catalog.json.golden",
               Normalised(CatalogJson(found, {}).dump(2) + "\n"));
  EXPECT_EQ(FormatCatalog({}), "no plugins\n");
}

TEST(Describe, TellsEveryField) {
  const Manifest anchor = MakeManifest("anchor", kAnchor);
  ExpectGolden("trainer/inspect/testdata/plugin.golden",
               Normalised(DescribePlugin(anchor)));
  ExpectGolden("trainer/inspect/testdata/plugin.json.golden",
               Normalised(PluginJson(anchor).dump(2) + "\n"));
}

TEST(Describe, LeavesOutWhatIsNotThere) {
  ExpectGolden("trainer/inspect/testdata/bare_plugin.golden",
               Normalised(DescribePlugin(MakeManifest("chain"))));
}

TEST(Why, TellsConditionsClaimsAndOrder) {
  ExpectGolden(
      "trainer/inspect/testdata/why.golden",
      Why("anchor", "sail") +
          Why("sail", "anchor", "anchor: {depth: 7, kind: fluke}") +
          Why("anchor", "sail", "{anchor: {depth: 9}, sail: {area: 4}}") +
          Why("engine", "sail") + Why("engine", "anchor") +
          Why("chain", "com.acme.buoy"));
}

TEST(Graph, ShowsAPlan) {
  const std::vector<Manifest> fleet = Fleet();
  Problems problems;
  const auto plan = plan::ResolvePlan(
      fleet, MakeRecipe("plugins: {sail: {}, anchor: {}, chain: {}}"), Here(),
      problems);
  ASSERT_TRUE(plan) << FormatProblems(problems);
  const Graph graph = GraphOf(*plan, fleet);
  ExpectGolden("trainer/inspect/testdata/plan.dot.golden", ToDot(graph));
  ExpectGolden("trainer/inspect/testdata/graph.json.golden",
               ToJson(graph).dump(2) + "\n");
}

TEST(Graph, ShowsAllPlugins) {
  ExpectGolden("trainer/inspect/testdata/plugins.dot.golden",
               ToDot(GraphOf(Fleet())));
}

}  // namespace
}  // namespace slipway::inspect
