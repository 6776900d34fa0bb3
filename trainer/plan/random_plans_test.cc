// Properties of plans of random plugins.
#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

constexpr int kRounds = 300;

// Some plugins, all of which the recipe wants.
struct World {
  std::vector<Manifest> manifests;
  recipe::Node recipe;
};

class WorldMaker {
 public:
  explicit WorldMaker(int seed) : random_(seed) {}

  World Make() {
    const int count = 2 + Below(6);
    std::vector<std::string> ids, entries;
    for (int i = 0; i < count; ++i) ids.push_back(absl::StrCat("p", i));
    World world;
    for (const std::string& id : ids) {
      world.manifests.push_back(MakeManifest(id, Fields(id, ids)));
    }
    std::shuffle(ids.begin(), ids.end(), random_);
    for (const std::string& id : ids) entries.push_back(id + ": {}");
    world.recipe = MakeRecipe(
        absl::StrCat("plugins: {", absl::StrJoin(entries, ", "), "}"));
    return world;
  }

  std::mt19937& random() { return random_; }

 private:
  int Below(int limit) { return random_() % limit; }

  // A few others, none twice.
  std::vector<std::string> Some(const std::string& self,
                                const std::vector<std::string>& ids) {
    std::vector<std::string> some;
    for (const std::string& id : ids) {
      if (id != self && Below(6) == 0) some.push_back(id);
    }
    return some;
  }

  std::string Fields(const std::string& id,
                     const std::vector<std::string>& ids) {
    std::string text =
        absl::StrCat("before: [", absl::StrJoin(Some(id, ids), ", "), "]\n",
                     "after: [", absl::StrJoin(Some(id, ids), ", "), "]\n");
    // FitEnd ends what FitBegin began: its order is the reverse.
    absl::StrAppend(&text, "hooks: [FitBegin",
                    Below(2) == 0 ? ", BeforeForward" : "",
                    Below(2) == 0 ? ", FitEnd" : "", "]\n");
    if (Below(8) == 0) absl::StrAppend(&text, "claims: [eval_weights]\n");
    const std::string& other = ids[Below(ids.size())];
    if (other != id && Below(6) == 0) {
      absl::StrAppend(&text, "conflicts: [{with: ", other, ", reason: r}]\n");
    }
    return text;
  }

  std::mt19937 random_;
};

int PositionOf(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) - ids.begin();
}

// reaches[i][j]: whether plugin i must run before plugin j, by any path.
std::vector<std::vector<bool>> Reaches(const World& world) {
  const size_t count = world.manifests.size();
  std::vector<std::string> ids;
  for (const Manifest& manifest : world.manifests) ids.push_back(manifest.id);
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
  for (size_t i = 0; i < count; ++i) {
    for (const std::string& then : world.manifests[i].before) {
      reaches[i][PositionOf(ids, then)] = true;
    }
    for (const std::string& first : world.manifests[i].after) {
      reaches[PositionOf(ids, first)][i] = true;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < count; ++j) {
        if (reaches[i][k] && reaches[k][j]) reaches[i][j] = true;
      }
    }
  }
  return reaches;
}

bool HasCycle(const World& world) {
  const std::vector<std::vector<bool>> reaches = Reaches(world);
  for (size_t i = 0; i < reaches.size(); ++i) {
    if (reaches[i][i]) return true;
  }
  return false;
}

// Each demand, of one's own or that follows from others', is met by `order`,
// which may lack plugins.
void ExpectObeyed(const World& world, const std::vector<std::string>& order,
                  bool reversed, int seed) {
  const std::vector<std::vector<bool>> reaches = Reaches(world);
  for (size_t i = 0; i < reaches.size(); ++i) {
    for (size_t j = 0; j < reaches.size(); ++j) {
      const size_t first = PositionOf(order, world.manifests[i].id);
      const size_t then = PositionOf(order, world.manifests[j].id);
      const bool both = first < order.size() && then < order.size();
      if (!reaches[i][j] || !both) continue;
      EXPECT_EQ(first < then, !reversed) << seed;
    }
  }
}

// What must be told of a world without a cycle: each pair that one of them, or
// both, say cannot be together, and each slot that several hold.
size_t ProblemsOf(const World& world) {
  std::set<std::set<std::string>> pairs;
  int holders = 0;
  for (const Manifest& manifest : world.manifests) {
    for (const Relation& conflict : manifest.conflicts) {
      pairs.insert({manifest.id, conflict.with});
    }
    holders += manifest.claims.size();
  }
  return pairs.size() + (holders > 1 ? 1 : 0);
}

bool HasKind(const Problems& problems, const std::string& kind) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& p) { return p.kind == kind; });
}

TEST(RandomPlans, HaveAnOrderThatObeysEachDemandUnlessThereIsACycle) {
  int ordered = 0, cyclic = 0;
  for (int seed = 0; seed < kRounds; ++seed) {
    const World world = WorldMaker(seed).Make();
    Problems problems;
    std::optional<Plan> plan =
        ResolvePlan(world.manifests, world.recipe, {}, problems);
    EXPECT_EQ(HasKind(problems, "order"), HasCycle(world)) << seed;
    if (!plan) {
      cyclic += HasCycle(world);
      continue;
    }
    ++ordered;
    ASSERT_EQ(plan->order["FitBegin"].size(), world.manifests.size());
    for (const auto& [hook, ids] : plan->order) {
      ExpectObeyed(world, ids, /*reversed=*/hook == "FitEnd", seed);
    }
  }
  // The seeds must make enough of both.
  EXPECT_GT(ordered, kRounds / 10);
  EXPECT_GT(cyclic, kRounds / 10);
}

TEST(RandomPlans, DoNotDependOnTheOrderOfManifests) {
  for (int seed = 0; seed < kRounds; ++seed) {
    WorldMaker maker(seed);
    World world = maker.Make();
    Problems problems, shuffled_problems;
    const std::optional<Plan> plan =
        ResolvePlan(world.manifests, world.recipe, {}, problems);
    std::shuffle(world.manifests.begin(), world.manifests.end(),
                 maker.random());
    const std::optional<Plan> shuffled =
        ResolvePlan(world.manifests, world.recipe, {}, shuffled_problems);
    EXPECT_EQ(FormatProblems(problems), FormatProblems(shuffled_problems));
    ASSERT_EQ(plan.has_value(), shuffled.has_value()) << seed;
    EXPECT_EQ(plan.value_or(Plan()).hash, shuffled.value_or(Plan()).hash);
  }
}

TEST(RandomPlans, ReportEachProblemOnce) {
  size_t reported = 0;
  for (int seed = 0; seed < kRounds; ++seed) {
    const World world = WorldMaker(seed).Make();
    Problems problems;
    ResolvePlan(world.manifests, world.recipe, {}, problems);
    std::set<std::string> texts;
    for (const Problem& problem : problems) {
      EXPECT_TRUE(texts.insert(FormatProblem(problem)).second)
          << seed << ": " << FormatProblem(problem);
    }
    if (!HasCycle(world)) {
      EXPECT_EQ(problems.size(), ProblemsOf(world)) << FormatProblems(problems);
    }
    reported += problems.size();
  }
  EXPECT_GT(reported, static_cast<size_t>(kRounds) / 4);
}

}  // namespace
}  // namespace slipway::plan
