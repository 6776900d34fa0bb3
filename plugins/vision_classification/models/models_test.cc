#include "plugins/vision_classification/models/models.h"

#include <string>

#include "ATen/ops/ones.h"
#include "gtest/gtest.h"

namespace slipway::vision_classification {
namespace {

using recipe::Node;

Node Structure(int64_t blocks) {
  return Node::List(std::vector<Node>(4, Node::Int(blocks)));
}

// The parameters that `name` needs, on line 1 and following of x.yaml.
Node Required(std::string_view name) {
  Node params = Node::Map({"x.yaml", 1, 1});
  params.Set("num_classes", Node::Int(7));
  if (name.starts_with("custom")) {
    params.Set("structure", Structure(1));
    params.Set("width_mult", Node::Float(0.125));
  }
  return params;
}

TEST(Models, AreBuiltByEachName) {
  for (const std::string& name : ModelNames()) {
    Problems problems;
    const auto model = MakeModel(name, Required(name), problems);
    ASSERT_NE(model, nullptr) << name << FormatProblems(problems);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(model->StateDict().back().second.sizes(), at::IntArrayRef({7}))
        << name;
  }
}

TEST(Models, ReadEveryParameter) {
  Node params = Required("custom_resnet50");
  params.Set("in_channels", Node::Int(1));
  params.Set("droppath_prob", Node::Float(0.1));
  params.Set("backbone_mode", Node::Bool(true));
  params.Erase("num_classes");
  Problems problems;
  const auto model = MakeModel("custom_resnet50", params, problems);
  ASSERT_NE(model, nullptr) << FormatProblems(problems);
  EXPECT_EQ(model->Find("linear"), nullptr);
  model->Train(false);
  EXPECT_EQ(model->Run(at::ones({1, 1, 64, 64})).sizes(),
            at::IntArrayRef({1, 256, 2, 2}));
}

TEST(Models, ReportEveryMistakeAtOnce) {
  Node params = Node::Map({"x.yaml", 1, 1});
  params.Set("num_classes", Node::Int(0, {"x.yaml", 2, 16}));
  params.Set("in_chanels", Node::Int(1, {"x.yaml", 3, 15}), {"x.yaml", 3, 3});
  params.Set("structure", Structure(-1));
  params.Set("width_mult", Node::Int(0, {"x.yaml", 5, 15}));
  Problems problems;
  EXPECT_EQ(MakeModel("custom_resnet_cifar", params, problems), nullptr);
  const std::string text = FormatProblems(problems);
  for (const char* part :
       {"num_classes", "x.yaml:2:16", "in_chanels", "x.yaml:3",
        "did you mean \"in_channels\"?", "width_mult", "x.yaml:5:15",
        "the number of blocks -1 is not between 0 and 1000"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Models, NeedTheirNumberOfClasses) {
  Problems problems;
  EXPECT_EQ(MakeModel("resnet18", Node::Map(), problems), nullptr);
  EXPECT_EQ(problems.size(), 1);
  EXPECT_NE(FormatProblems(problems).find("num_classes"), std::string::npos);
}

TEST(Models, LeaveEarlierProblemsAlone) {
  Problems problems = {{.kind = "value", .message = "an earlier one"}};
  EXPECT_NE(MakeModel("resnet18", Required("resnet18"), problems), nullptr);
  EXPECT_EQ(problems.size(), 1);
}

}  // namespace
}  // namespace slipway::vision_classification
