#include "trainer/recipe/targets.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/merge.h"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

std::string Resolved(const std::string& text) {
  Problems problems;
  Node node = *ParseYaml(text, "x.yaml", problems);
  ResolveTargets(node, problems);
  return problems.empty() ? node.ToJson().dump() : FormatProblems(problems);
}

TEST(Targets, BecomeTheirValues) {
  struct Case {
    const char* text;
    const char* json;
  };
  const Case cases[] = {
      {"{_target_: numpy.arange, start: 100, stop: 250, step: 50}",
       "[100,150,200]"},
      {"{_target_: numpy.arange, stop: 3}", "[0,1,2]"},
      {"{_target_: numpy.arange, start: 2.4, stop: 7.2, step: 2.4}",
       "[2.4,4.8,7.199999999999999]"},
      {"{_target_: numpy.arange, start: 3, stop: 0, step: -1}", "[3,2,1]"},
      {"{_target_: numpy.arange, start: 3, stop: 0}", "[]"},
      {"[{_target_: super_gradients.training.utils.utils.empty_list}]", "[[]]"},
      {"a: {b: {_target_: super_gradients.training.sg_trainer.StrictLoad, "
       "value: no_key_matching}}",
       R"({"a":{"b":"no_key_matching"}})"},
      {"{_target_: super_gradients.training.sg_trainer.StrictLoad, value: on}",
       "true"},
      {"{_target_: super_gradients.training.utils.utils.load_func, dotpath: "
       "a.b}",
       "\"a.b\""},
      {"{_target_: super_gradients.training.utils.callbacks.base_callbacks."
       "Phase, value: TRAIN_BATCH_END}",
       "\"TRAIN_BATCH_END\""},
  };
  for (const Case& c : cases) EXPECT_EQ(Resolved(c.text), c.json) << c.text;
}

TEST(Targets, StayWhereAPluginKnowsThem) {
  EXPECT_EQ(Resolved("{_target_: a.b.CollateMixup, alpha: 0.2}"),
            R"({"_target_":"a.b.CollateMixup","alpha":0.2})");
  EXPECT_EQ(Resolved("{_target_: SSDLoss, lr: {_target_: numpy.arange, "
                     "stop: 1}}"),
            R"({"_target_":"SSDLoss","lr":[0]})");
  EXPECT_EQ(Resolved("{_target_: super_gradients.training.utils."
                     "segmentation_utils.coco_sub_classes_inclusion_tuples_"
                     "list}"),
            R"({"_target_":"super_gradients.training.utils.)"
            R"(segmentation_utils.coco_sub_classes_inclusion_tuples_list"})");
}

TEST(Targets, AreAClosedListOfFunctions) {
  EXPECT_EQ(Resolved("a: {_target_: numpy.arrange, stop: 3}\n"
                     "b: {_target_: os.system, cmd: ls}\n"
                     "c: {_target_: 3}\n"),
            "error: unknown _target_ \"numpy.arrange\"\n"
            "  where:  x.yaml:1:15\n"
            "  hint:   did you mean \"numpy.arange\"?\n"
            "error: unknown _target_ \"os.system\"\n"
            "  where:  x.yaml:2:15\n"
            "  hint:   it is a class that a plugin has, or one of a few "
            "functions such as numpy.arange\n"
            "error: unknown _target_ 3\n"
            "  where:  x.yaml:3:15\n"
            "  hint:   it is a class that a plugin has, or one of a few "
            "functions such as numpy.arange\n");
}

TEST(Targets, CheckTheirParameters) {
  EXPECT_EQ(Resolved("a: {_target_: numpy.arange, start: x, stpo: 3}\n"
                     "b: {_target_: numpy.arange, stop: 3, step: 0}\n"
                     "c: {_target_: numpy.arange, stop: 1, step: 1e-9}\n"),
            "error: \"start\" of numpy.arange is \"x\"\n"
            "  detail: expected a number, found text \"x\"\n"
            "  where:  x.yaml:1:36\n"
            "error: numpy.arange needs a value for \"stop\"\n"
            "  where:  x.yaml:1:4\n"
            "error: unknown parameter \"stpo\" of numpy.arange\n"
            "  where:  x.yaml:1:39\n"
            "  hint:   did you mean \"stop\"?\n"
            "error: numpy.arange makes no finite list of sensible length\n"
            "  where:  x.yaml:2:44\n"
            "  hint:   give a step that leads from start to stop\n"
            "error: numpy.arange makes no finite list of sensible length\n"
            "  where:  x.yaml:3:44\n"
            "  hint:   give a step that leads from start to stop\n");
}

TEST(Targets, KeepThePlaceAndOrderOfTheCall) {
  Problems problems;
  Node node =
      *ParseYaml("a: {_target_: numpy.arange, stop: 1}", "x.yaml", problems);
  SetOrder(6, node);
  ResolveTargets(node, problems);
  EXPECT_EQ(ToString(node.Find("a")->mark()), "x.yaml:1:4");
  EXPECT_EQ(node.FindPath("a.0")->order(), 6);
}

}  // namespace
}  // namespace slipway::recipe
