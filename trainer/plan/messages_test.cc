// What people read when a plan is refused, word for word.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/golden/golden.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

struct Case {
  std::string title;
  // Ids, and what their manifests say beyond the required fields.
  std::vector<std::pair<std::string, std::string>> manifests;
  std::string recipe;
};

constexpr char kEma[] = R"(
config:
  decay: {type: float, default: 0.9999, min: 0, max: 1, help: h}
  kind: {type: string, default: exp, enum: [exp, constant], help: h}
recipe_keys:
  - {key: training_hyperparams.ema, enables: true}
  - {key: training_hyperparams.ema_params.*}
conflicts:
  - {with: compile, reason: parameters are captured}
claims: [eval_weights]
components: {callbacks: [EmaCallback]}
)";

std::vector<Case> UnknownThings() {
  return {
      {"an unknown plugin",
       {{"ema", ""}, {"amp", ""}},
       "plugins:\n  emma: {}\n  com.acme.x: {}\n"},
      {"an unknown plugin where there are none", {}, "plugins: {ema: {}}"},
      {"an unknown configuration key",
       {{"ema", kEma}},
       "plugins:\n  ema: {decoy: 0.9}\n"},
      {"an unknown key among the recipe's",
       {{"ema", kEma}},
       "training_hyperparams:\n  ema: True\n  ema_params: {decoy: 0.9}\n"},
      {"configuration out of range and of a wrong kind",
       {{"ema", kEma}},
       "training_hyperparams:\n  ema: True\n"
       "  ema_params: {decay: 1.5, kind: expo}\n"},
      {"configuration that is no map",
       {{"ema", kEma}, {"amp", ""}},
       "plugins: {ema: 3, amp: {config: [1]}}"},
      {"configuration of a plugin that has none",
       {{"amp", ""}},
       "plugins: {amp: {speed: 3}}"},
      {"an unknown policy",
       {{"amp", ""}},
       "plugins: {amp: {on_error: ignore}}"},
      {"a section that is a list", {{"amp", ""}}, "plugins: [amp]"},
      {"an unknown component",
       {{"nets", "components: {models: [resnet18, resnet50]}"}},
       "architecture: resnet81\n"
       "training_hyperparams:\n  loss: {CrossEntropy: {}}\n"
       "  train_metrics_list: [Accuracy]\n  valid_metrics_list: [Accuracy]\n"},
      {"a component that several have",
       {{"nets", "components: {models: [resnet18]}"},
        {"other", "components: {models: [resnet18]}"}},
       "architecture: resnet18"},
      {"a component of a plugin that is off",
       {{"nets", "components: {models: [resnet18]}"}},
       "architecture: resnet18\nplugins: {nets: false}"},
  };
}

std::vector<Case> Disagreements() {
  return {
      {"a plugin switched on and off in one file",
       {{"ema", kEma}},
       "training_hyperparams: {ema: False}\nplugins: {ema: {}}"},
      {"a configuration key set twice in one file",
       {{"ema", kEma}},
       "training_hyperparams:\n  ema: True\n  ema_params: {decay: 0.9}\n"
       "plugins:\n  ema: {decay: 0.99}\n"},
      {"a version that is not there",
       {{"ema", kEma}},
       "plugins: {ema: {version: ^2}}"},
      {"a version that is none",
       {{"ema", kEma}},
       "plugins: {ema: {version: new}}"},
      {"a plugin for another API", {{"ema", "api: ^2"}}, "plugins: {ema: {}}"},
      {"a plugin for another platform",
       {{"fast", "platforms: [cuda, linux]"}},
       "plugins: {fast: {}}"},
      {"a planned and a deprecated plugin",
       {{"new", "status: planned"},
        {"old", "status: deprecated"},
        {"bad", "conflicts: [{with: old, reason: r}]"}},
       "plugins: {new: {}, old: {}, bad: {}}"},
  };
}

std::vector<Case> Requirements() {
  constexpr char kNeeds[] =
      "requires: [{with: amp, version: ^1.2, reason: casts}]";
  return {
      {"a requirement that is not in the plan",
       {{"lamb", kNeeds}, {"amp", "version: 1.2.0"}},
       "plugins: {lamb: {}}"},
      {"a requirement in another version",
       {{"lamb", kNeeds}, {"amp", "version: 1.1.0"}},
       "plugins: {lamb: {}, amp: {}}"},
      {"a requirement that would be added in another version",
       {{"lamb", kNeeds}, {"amp", "version: 1.1.0"}},
       "plugins: {lamb: {}, auto_require: true}"},
      {"a requirement that was not found",
       {{"lamb", kNeeds}, {"map", ""}},
       "plugins: {lamb: {}}"},
      {"a requirement that is switched off",
       {{"lamb", kNeeds}, {"amp", "version: 1.2.0"}},
       "plugins: {lamb: {}, amp: false, auto_require: true}"},
      {"a requirement that several could meet",
       {{"lamb", "requires: [{with: casts, fix: \"add plugins.a: {}\"}]"},
        {"a", "provides: [casts]"},
        {"b", "provides: [casts]"}},
       "plugins: {lamb: {}, auto_require: true}"},
      {"what is added and what is recommended, beside an error",
       {{"lamb", absl::StrCat(kNeeds,
                              "\nrecommends: [{with: map, reason: it shows "
                              "the way, advice: \"plugins.map: {}\"}]")},
        {"amp", "version: 1.2.0"},
        {"map", ""}},
       "plugins: {lamb: {}, emma: {}, auto_require: true}"},
  };
}

std::vector<Case> Conflicts() {
  return {
      {"a conflict that one declares",
       {{"ema", kEma}, {"compile", ""}},
       "plugins:\n  compile: {}\ntraining_hyperparams:\n  ema: True\n"},
      {"a conflict that both declare",
       {{"ema", kEma},
        {"compile",
         "conflicts: [{with: ema, reason: it moves weights, fix: "
         "\"plugins.compile.scope=model\"}]"}},
       "plugins: {ema: {}, compile: {}}"},
      {"a conflict with the world",
       {{"step",
         "conflicts: [{when: world_size > 1, reason: it is for one "
         "process, fix: start one}]"}},
       "plugins: {step: {}}"},
      {"a claim that two make",
       {{"ema", kEma}, {"com.acme.swa", "claims: [eval_weights]"}},
       "plugins:\n  ema: {}\n  com.acme.swa: {}\n"
       "  allow: [\"ema+com.acme.swa: I know\"]\n"},
      {"a permission without its reason",
       {{"ema", kEma}, {"compile", ""}},
       "plugins: {ema: {}, allow: [ema+compile, 3, \"ema: why\"]}"},
      {"an order that cannot be",
       {{"a", "before: [b]"}, {"b", "before: [c]"}, {"c", "before: [a]"}},
       "plugins: {a: {}, b: {}, c: {}}"},
      {"two orders that cannot be",
       {{"a", "before: [b]\nafter: [b]"},
        {"b", ""},
        {"c", "after: [d]"},
        {"d", "after: [c]"}},
       "plugins: {a: {}, b: {}, c: {}, d: {}}"},
      {"many things at once",
       {{"ema", kEma},
        {"compile", "requires: [{with: amp}]\nclaims: [eval_weights]"}},
       "plugins: {ema: {decay: 2}, compile: {version: ^3}, emma: {}}"},
  };
}

std::string Messages(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& c : cases) {
    std::vector<Manifest> manifests;
    for (const auto& [id, more] : c.manifests) {
      manifests.push_back(MakeManifest(id, more));
    }
    Environment here;
    here.world_size = 2;
    here.os = "linux";
    here.arch = "x86_64";
    Problems problems;
    EXPECT_FALSE(ResolvePlan(manifests, MakeRecipe(c.recipe), here, problems,
                             {"plugins", "/opt/plugins"}))
        << c.title;
    absl::StrAppend(&text, "### ", c.title, "\n", FormatProblems(problems),
                    "\n");
  }
  return text;
}

TEST(Messages, SayWhatIsUnknown) {
  ExpectGolden("trainer/plan/testdata/unknown_things.golden",
               Messages(UnknownThings()));
}

TEST(Messages, SayWhatDisagrees) {
  ExpectGolden("trainer/plan/testdata/disagreements.golden",
               Messages(Disagreements()));
}

TEST(Messages, SayWhatIsRequired) {
  ExpectGolden("trainer/plan/testdata/requirements.golden",
               Messages(Requirements()));
}

TEST(Messages, SayWhatCannotBeTogether) {
  ExpectGolden("trainer/plan/testdata/conflicts.golden", Messages(Conflicts()));
}

}  // namespace
}  // namespace slipway::plan
