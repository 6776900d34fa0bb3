#include "trainer/recipe/schema.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/recipe/schema_table.h"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

using ::testing::HasSubstr;

// What is wrong with a recipe.
std::string Checked(const std::string& text,
                    const SchemaOptions& options = {}) {
  Problems problems;
  const auto recipe = ParseYaml(text, "x.yaml", problems);
  EXPECT_EQ(FormatProblems(problems), "");
  if (recipe) CheckSchema(*recipe, options, problems);
  return FormatProblems(problems);
}

TEST(Schema, AcceptsWhatIsRight) {
  EXPECT_EQ(Checked("architecture: resnet18\n"
                    "arch_params: {anything: [1, {b: 2}]}\n"
                    "device: cpu\n"
                    "multi_gpu: Off\n"
                    "num_gpus: 0\n"
                    "plugins:\n"
                    "  ema: {decay: 0.99}\n"
                    "  compile:\n"
                    "  amp: false\n"
                    "  allow: ['ema+compile: tested']\n"
                    "  path: [a, b]\n"
                    "  auto_require: true\n"
                    "dataset_params: {train_dataset_params: {x: 1}}\n"
                    "training_hyperparams:\n"
                    "  _convert_: all\n"
                    "  initial_lr: {default: 0.1, backbone: 0.01}\n"
                    "  max_epochs: 3\n"
                    "  clip_grad_norm: 1\n"
                    "  loss: {CrossEntropyLoss: {smooth_eps: 0.1}}\n"
                    "  optimizer:\n"
                    "  ema_params: {decay: 1, beta: 15}\n"
                    "  compat: supergradients\n"),
            "");
}

TEST(Schema, NamesTheNearestKeyOrWhereOneBelongs) {
  EXPECT_EQ(Checked("architectur: resnet18\n"
                    "max_epochs: 3\n"
                    "training_hyperparams:\n"
                    "  mixed_precison: true\n"
                    "  architecture: x\n"
                    "  ema_params: {decy: 0.9}\n"
                    "  zzzzzz: 1\n"
                    "plugin: {}\n"),
            R"(error: unknown key "architectur" in the recipe
  where:  x.yaml:1:1
  hint:   did you mean "architecture"?
error: unknown key "max_epochs" in the recipe
  where:  x.yaml:2:1
  hint:   it belongs into "training_hyperparams"
error: unknown key "mixed_precison" in "training_hyperparams"
  where:  x.yaml:4:3
  hint:   did you mean "mixed_precision"?
error: unknown key "architecture" in "training_hyperparams"
  where:  x.yaml:5:3
  hint:   it belongs at the top of the recipe
error: unknown key "decy" in "training_hyperparams.ema_params"
  where:  x.yaml:6:16
  hint:   did you mean "decay"?
error: unknown key "zzzzzz" in "training_hyperparams"
  where:  x.yaml:7:3
  hint:   remove it; a variable of your own is one that ${training_hyperparams.zzzzzz} refers to
error: unknown key "plugin" in the recipe
  where:  x.yaml:8:1
  hint:   did you mean "plugins"?
)");
}

TEST(Schema, ChecksTypesAndRanges) {
  EXPECT_EQ(Checked("architecture: [a]\n"
                    "device: gpu\n"
                    "num_gpus: -1\n"
                    "training_hyperparams:\n"
                    "  max_epochs: 1e3\n"
                    "  initial_lr: fast\n"
                    "  lr_decay_factor: 2\n"
                    "  step_lr_update_freq: .nan\n"
                    "  ema: 1\n"
                    "  loss: [a]\n"
                    "  compat: supergradient\n"
                    "  ema_params: 3\n"
                    "dataset_params: none\n"
                    "plugins: [ema]\n"),
            R"(error: "architecture" is ["a"]
  detail: expected text, found list
  where:  x.yaml:1:15
error: "device" is "gpu"
  detail: expected one of auto, cpu, cuda
  where:  x.yaml:2:9
  hint:   did you mean "cpu"?
error: "num_gpus" is -1
  detail: expected an integer of at least 0
  where:  x.yaml:3:11
error: "training_hyperparams.max_epochs" is 1000.0
  detail: expected an integer of at least 1, found number
  where:  x.yaml:5:15
  hint:   write it as a whole number, without a dot or exponent
error: "training_hyperparams.initial_lr" is "fast"
  detail: expected a number of at least 0 or a map, found text
  where:  x.yaml:6:15
error: "training_hyperparams.lr_decay_factor" is 2
  detail: expected a number from 0 to 1
  where:  x.yaml:7:20
error: "training_hyperparams.step_lr_update_freq" is .nan
  detail: expected a number of at least 0
  where:  x.yaml:8:24
error: "training_hyperparams.ema" is 1
  detail: expected true or false, found integer
  where:  x.yaml:9:8
error: "training_hyperparams.loss" is ["a"]
  detail: expected text or a map, found list
  where:  x.yaml:10:9
error: "training_hyperparams.compat" is "supergradient"
  detail: expected one of none, supergradients
  where:  x.yaml:11:11
  hint:   did you mean "supergradients"?
error: "training_hyperparams.ema_params" is 3
  detail: expected a map, found integer
  where:  x.yaml:12:15
error: "dataset_params" is "none"
  detail: expected a map, found text
  where:  x.yaml:13:17
error: "plugins" is ["ema"]
  detail: expected a map, found list
  where:  x.yaml:14:10
)");
}

TEST(Schema, ChecksTheShapeOfThePluginSection) {
  EXPECT_EQ(Checked("plugins:\n"
                    "  ema: 3\n"
                    "  allow: ema+compile\n"
                    "  path: [1]\n"
                    "  auto_require: yes please\n"),
            R"(error: "plugins.ema" is 3
  detail: expected a map of its configuration, true or false, found integer
  where:  x.yaml:2:8
error: "plugins.allow" is "ema+compile"
  detail: expected a list of texts, found text
  where:  x.yaml:3:10
error: "plugins.path" is [1]
  detail: expected a list of texts, found list
  where:  x.yaml:4:9
error: "plugins.auto_require" is "yes please"
  detail: expected true or false, found text
  where:  x.yaml:5:17
)");
}

TEST(Schema, RefusesWhatNothingHonoursYetUnlessItAsksForNothing) {
  EXPECT_EQ(Checked("training_hyperparams:\n"
                    "  precise_bn: true\n"
                    "  precise_bn_batch_size: 8\n"
                    "  enable_qat: false\n"
                    "  sg_logger_params: {launch_tensorboard: on}\n"
                    "pre_launch_callbacks_list: []\n"
                    "checkpoint_params: {pretrained_weights: coco}\n"),
            R"(error: nothing honours "training_hyperparams.precise_bn" yet
  detail: found true
  where:  x.yaml:2:15
  hint:   remove it, or give it its default, false
error: nothing honours "training_hyperparams.precise_bn_batch_size" yet
  detail: found 8
  where:  x.yaml:3:26
  hint:   remove it, or give it its default, null
error: nothing honours "training_hyperparams.sg_logger_params.launch_tensorboard" yet
  detail: found true
  where:  x.yaml:5:42
  hint:   remove it, or give it its default, false
error: nothing honours "checkpoint_params.pretrained_weights" yet
  detail: found "coco"
  where:  x.yaml:7:41
  hint:   remove it, or give it its default, null
note: keys that nothing honours yet are at their defaults
  detail: enable_qat, pre_launch_callbacks_list
)");
}

TEST(Schema, TakesWhatDependsOnAnotherKeyOnlyWithThatKey) {
  const std::string key = "training_hyperparams: {precise_bn_batch_size: 8";
  EXPECT_THAT(Checked(key + "}\n"),
              HasSubstr("note: keys that nothing honours yet"));
  EXPECT_THAT(Checked(key + ", precise_bn: true}\n"),
              HasSubstr("nothing honours "
                        "\"training_hyperparams.precise_bn_batch_size\" yet"));
}

TEST(Schema, NotesKeysThatAreAtTheirDefaults) {
  EXPECT_EQ(Checked("training_hyperparams:\n"
                    "  average_best_models: true\n"
                    "  seed: 1\n"
                    "  precise_bn: false\n"
                    "  enable_qat: false\n"),
            R"(note: keys that nothing honours yet are at their defaults
  detail: precise_bn, enable_qat
)");
}

TEST(Schema, NotesDeadKeysOfSuperGradients) {
  EXPECT_EQ(Checked("training_hyperparams: {multiply_head_lr: 10}\n"
                    "arch_params: {strict_load: x}\n"
                    "load_checkpoint: False\n"),
            R"(note: "multiply_head_lr" has no effect
  detail: SuperGradients does not read it either
  where:  x.yaml:1:24
note: "strict_load" has no effect
  detail: SuperGradients does not read it either
  where:  x.yaml:2:15
note: "load_checkpoint" has no effect
  detail: SuperGradients does not read it either
  where:  x.yaml:3:1
)");
}

TEST(Schema, KnowsVariablesByTheInterpolationsThatUseThem) {
  const std::string recipe =
      "classes: 10\nsizes: {small: 1, big: 2}\ndataset_params: {img_mean: 3}\n";
  EXPECT_EQ(Checked(recipe, {.variables = {"classes", "sizes-x", "sizes.big",
                                           "dataset_params.img_mean"}}),
            "");
  EXPECT_THAT(Checked(recipe, {.variables = {"sizes"}}),
              HasSubstr("unknown key \"classes\""));
  EXPECT_THAT(Checked(recipe, {.variables = {"classes", "sizes"}}),
              HasSubstr("note: \"img_mean\" has no effect"));
}

TEST(Schema, KnowsTheKeysOfPlugins) {
  SchemaOptions options;
  options.plugin_keys = {"training_hyperparams.swa",
                         "training_hyperparams.swa_params.start",
                         "training_hyperparams.ema_params.warm"};
  EXPECT_EQ(Checked("training_hyperparams:\n"
                    "  swa: true\n"
                    "  swa_params: {start: 1}\n"
                    "  ema_params: {warm: 1}\n",
                    options),
            "");
  EXPECT_EQ(Checked("training_hyperparams:\n"
                    "  swaa: true\n"
                    "  swa_params: {strt: 1}\n",
                    options),
            R"(error: unknown key "swaa" in "training_hyperparams"
  where:  x.yaml:2:3
  hint:   did you mean "swa"?
error: unknown key "strt" in "training_hyperparams.swa_params"
  where:  x.yaml:3:16
  hint:   did you mean "start"?
)");
}

TEST(Schema, WarnsOfUnknownKeysWhereTheyAreAllowed) {
  EXPECT_EQ(Checked("zzzzzz: 1\n", {.allow_unknown = true}),
            "warning: unknown key \"zzzzzz\" in the recipe\n"
            "  where:  x.yaml:1:1\n"
            "  hint:   remove it; a variable of your own is one that ${zzzzzz} "
            "refers to\n");
}

TEST(Schema, FindsWhatIsStillOpen) {
  EXPECT_EQ(Checked("architecture: '\?\?\?'\n"
                    "arch_params: {blocks: [1, '\?\?\?']}\n"),
            R"(error: "architecture" is not set
  detail: the recipe leaves it open (???)
  where:  x.yaml:1:15
  hint:   set it: architecture=VALUE
error: "arch_params.blocks.1" is not set
  detail: the recipe leaves it open (???)
  where:  x.yaml:2:27
  hint:   set it: arch_params.blocks.1=VALUE
)");
}

void ExpectConsistent(const KeyRule& rule) {
  SCOPED_TRACE(rule.path);
  EXPECT_TRUE(rule.with.empty() || FindKey(rule.with) != nullptr);
  EXPECT_EQ(KeysIn(rule.path).empty(), (rule.types & kSection) == 0)
      << "a section has keys in the table, and nothing else has";
  Problems problems;
  EXPECT_TRUE(ParseYaml(rule.fallback, "fallback", problems));
}

TEST(SchemaTable, IsConsistent) {
  size_t sections = 0;
  std::vector<std::string> open = {""};
  while (!open.empty()) {
    const std::string section = open.back();
    open.pop_back();
    ++sections;
    for (const std::string& name : KeysIn(section)) {
      const std::string path = section.empty() ? name : section + "." + name;
      const KeyRule* rule = FindKey(path);
      ASSERT_NE(rule, nullptr) << path;
      // Of models only the dead keys are known.
      if (path != "arch_params") ExpectConsistent(*rule);
      if (rule->types == kSection) open.push_back(path);
    }
  }
  EXPECT_EQ(sections, 8u);
}

TEST(SchemaTable, FindsKeysByPathAndByName) {
  EXPECT_EQ(FindKey("training_hyperparams.nothing"), nullptr);
  EXPECT_EQ(FindKey("training_hyperparams.max_epochs")->types, kInt);
  EXPECT_EQ(SectionsWith("max_epochs"),
            std::vector<std::string>{"training_hyperparams"});
}

}  // namespace
}  // namespace slipway::recipe
