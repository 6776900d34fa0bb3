#include "plugins/vision_classification/models/models.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "ATen/ops/ones.h"
#include "gtest/gtest.h"
#include "trainer/recipe/yaml.h"

namespace slipway::vision_classification {
namespace {

using recipe::Node;

Node Structure(int64_t blocks) {
  return Node::List(std::vector<Node>(4, Node::Int(blocks)));
}

// What the architectures need that are not given by their names alone.
const std::map<std::string, std::string, std::less<>> kNeeds = {
    {"custom_resnet", "{structure: [1, 1, 1, 1], width_mult: 0.125}"},
    {"custom_resnet50", "{structure: [1, 1, 1, 1], width_mult: 0.125}"},
    {"custom_resnet_cifar", "{structure: [1, 1, 1, 1], width_mult: 0.125}"},
    {"custom_resnet50_cifar", "{structure: [1, 1, 1, 1], width_mult: 0.125}"},
    {"custom_mobilenet_v2", "{structure: [[6, 16, 2, 2]], width_mult: 0.5}"},
    {"mobilenet_v3_custom",
     "{structure: [[3, 2.5, 16, 1, 0, 2]], mode: small, width_mult: 1}"},
    {"CustomizedEfficientnet",
     "{width_coefficient: 0.25, depth_coefficient: 0.5, dropout_rate: 0, "
     "res: 64}"},
    {"custom_regnet",
     "{initial_width: 24, slope: 36, quantized_param: 2.5, network_depth: 5, "
     "bottleneck_ratio: 1, group_width: 8, stride: 2, se_ratio: 4}"},
    {"custom_anynet",
     "{ls_num_blocks: [1, 2], ls_block_width: [16, 32], "
     "ls_bottleneck_ratio: [1, 1], ls_group_width: [8, 8], stride: 2}"},
    {"nas_regnet", "{structure: [24, 36, 2.5, 5, 1, 8, 2, 0]}"},
    {"repvgg_custom",
     "{struct: [1, 1, 1, 1], width_multiplier: 0.25, use_se: true}"},
    {"shufflenet_v2_custom5",
     "{structure: [1, 2, 1], stages_out_channels: [8, 8, 16, 16, 32]}"},
};

// The parameters that `name` needs, on line 1 and following of x.yaml.
Node Required(std::string_view name) {
  Problems problems;
  const auto needs = kNeeds.find(name);
  Node params = needs == kNeeds.end()
                    ? Node::Map({"x.yaml", 1, 1})
                    : recipe::ParseYaml(needs->second, "x.yaml", problems)
                          .value_or(Node());
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  params.Set("num_classes", Node::Int(7));
  return params;
}

// A parameter's value as a recipe has it.
Node Value(std::string_view yaml) {
  Problems problems;
  return recipe::ParseYamlValue(yaml, {"x.yaml", 1, 1}, problems).value();
}

// Computed with super-gradients 3.7.1 for 1000 classes: the number of
// parameters and the checksum of NamesAndShapes(). Without vit_large, vit_huge
// and efficientnet_l2, which are too large for tests.
struct Figures {
  std::string_view name;
  int64_t parameters;
  uint32_t checksum;
};
constexpr Figures kFigures[] = {
    {"mobilenet_v2", 3504872, 0x194b84c4},
    {"mobile_net_v2_135", 5841352, 0xbd1a73cd},
    {"mobilenet_v3_large", 5483032, 0x6a251d77},
    {"mobilenet_v3_small", 2542856, 0x7107e740},
    {"efficientnet_b0", 5288548, 0xf1276e07},
    {"efficientnet_b1", 7794184, 0x4f821210},
    {"efficientnet_b2", 9109994, 0xacab8332},
    {"efficientnet_b3", 12233232, 0x057e12b2},
    {"efficientnet_b4", 19341616, 0x77224405},
    {"efficientnet_b5", 30389784, 0xdf139c5e},
    {"efficientnet_b6", 43040704, 0xf55d11bf},
    {"efficientnet_b7", 66347960, 0xd7f56b9d},
    {"efficientnet_b8", 87413142, 0x2d61d72c},
    {"regnetY200", 3278850, 0xf8d19af8},
    {"regnetY400", 4456026, 0xf641016a},
    {"regnetY600", 5661216, 0x9a138312},
    {"regnetY800", 6263168, 0x7a781b5d},
    {"repvgg_a0", 9108968, 0xdfed86af},
    {"repvgg_a1", 14092264, 0x009f5e2e},
    {"repvgg_a2", 28242408, 0x23158ef4},
    {"repvgg_b0", 15817960, 0xe7dccde5},
    {"repvgg_b1", 57499112, 0xf04f231c},
    {"repvgg_b2", 89179240, 0xcdfc9740},
    {"repvgg_b3", 123335400, 0x62d72318},
    {"repvgg_d2se", 131213160, 0x5eb3f3a1},
    {"vit_base", 86567656, 0x9415c24b},
    {"resnext50", 25028904, 0x77feec1e},
    {"resnext101", 88791336, 0xdc67a7d9},
    {"custom_densenet", 7978856, 0xc28c0fa2},
    {"densenet121", 7978856, 0xc28c0fa2},
    {"densenet161", 28681000, 0xe9bba2ec},
    {"densenet169", 14149480, 0x35c85c09},
    {"densenet201", 20013928, 0xe5d7ed32},
    {"shufflenet_v2_x0_5", 1366792, 0xb18ce707},
    {"shufflenet_v2_x1_0", 2278604, 0x0424d41e},
    {"shufflenet_v2_x1_5", 3503624, 0x7f6ec5d1},
    {"shufflenet_v2_x2_0", 7393996, 0xc08b2df5},
};

// Those that another test builds, or that are too large for any.
bool IsBuiltElsewhere(std::string_view name) {
  return name == "efficientnet_l2" || name == "vit_large" ||
         name == "vit_huge" ||
         std::any_of(std::begin(kFigures), std::end(kFigures),
                     [&](const Figures& f) { return f.name == name; });
}

TEST(Models, AreBuiltByEachName) {
  for (const std::string& name : ModelNames()) {
    if (IsBuiltElsewhere(name)) continue;
    Problems problems;
    const auto model = MakeModel(name, Required(name), problems);
    ASSERT_NE(model, nullptr) << name << FormatProblems(problems);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(model->StateDict().back().second.sizes(), at::IntArrayRef({7}))
        << name;
  }
}

uint32_t Crc32(std::string_view text) {
  uint32_t crc = ~0u;
  for (unsigned char c : text) {
    crc ^= c;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
  }
  return ~crc;
}

// A line for each tensor: its name and "[2, 3]".
std::string NamesAndShapes(const nn::Module& model) {
  std::string text;
  for (const auto& [name, tensor] : model.StateDict()) {
    if (!text.empty()) text += '\n';
    text += name + '[';
    for (int64_t i = 0; i < tensor.dim(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(tensor.size(i));
    }
    text += ']';
  }
  return text;
}

TEST(Models, HaveSuperGradientsNamesAndShapesInItsOrder) {
  for (const Figures& c : kFigures) {
    Node params = Node::Map();
    params.Set("num_classes", Node::Int(1000));
    Problems problems;
    const auto model = MakeModel(c.name, params, problems);
    ASSERT_NE(model, nullptr) << c.name << FormatProblems(problems);
    EXPECT_EQ(nn::CountParameters(*model), c.parameters) << c.name;
    EXPECT_EQ(Crc32(NamesAndShapes(*model)), c.checksum) << c.name;
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

TEST(Models, RefuseWhatTheirNamesDecideOtherwise) {
  const struct {
    const char* name;
    const char* params;
    const char* part;
  } cases[] = {
      {"mobilenet_v3_small", "{num_classes: 2, mode: large}",
       "architecture: mobilenet_v3_custom"},
      {"mobilenet_v3_large",
       "{num_classes: 2, structure: [[3, 1, 16, 0, 0, 1]]}",
       "architecture: mobilenet_v3_custom"},
      {"mobilenet_v2", "{num_classes: 2, width_mult: 0.5}",
       "architecture: custom_mobilenet_v2"},
      {"repvgg_a1", "{num_classes: 2, struct: [1, 1, 1, 1]}",
       "architecture: repvgg_custom"},
  };
  for (const auto& c : cases) {
    Problems problems;
    const auto params = recipe::ParseYaml(c.params, "x.yaml", problems);
    EXPECT_EQ(MakeModel(c.name, *params, problems), nullptr) << c.params;
    EXPECT_NE(FormatProblems(problems).find(c.part), std::string::npos)
        << FormatProblems(problems);
  }
}

TEST(Models, TakeWhatTheirNamesDecideLikewise) {
  Problems problems;
  const auto params = recipe::ParseYaml(
      "{num_classes: 2, structure: null, width_mult: 1}", "x.yaml", problems);
  EXPECT_NE(MakeModel("mobilenet_v2", *params, problems), nullptr)
      << FormatProblems(problems);
}

TEST(Models, RefuseStructuresOfTheWrongShape) {
  const struct {
    const char* name;
    const char* structure;
    const char* part;
  } cases[] = {
      {"custom_mobilenet_v2", "[[6, 16, 2]]", "lists of 4 numbers each"},
      {"custom_mobilenet_v2", "[[6, 16, 0, 2]]", "whole and positive"},
      {"custom_mobilenet_v2", "[[6, 16, 1, 3]]", "stride of 1 or 2"},
      {"mobilenet_v3_custom", "[[4, 1, 16, 0, 0, 1]]", "odd kernel"},
      {"mobilenet_v3_custom", "wide", "lists of 6 numbers each"},
  };
  for (const auto& c : cases) {
    Problems problems;
    Node params = Required(c.name);
    params.Set("structure", Value(c.structure));
    EXPECT_EQ(MakeModel(c.name, params, problems), nullptr) << c.structure;
    EXPECT_NE(FormatProblems(problems).find(c.part), std::string::npos)
        << FormatProblems(problems);
  }
}

TEST(Models, RefuseWhatCannotBeBuilt) {
  const struct {
    const char* name;
    const char* key;
    const char* value;
    const char* part;
  } cases[] = {
      {"custom_regnet", "bottleneck_ratio", "4", "be made of groups of 8"},
      {"custom_anynet", "ls_group_width", "[8, 16]", "for all stages"},
      {"custom_anynet", "ls_block_width", "[16, 20]", "groups of 8"},
      {"nas_regnet", "structure", "[24, 36, 2.5, 5, 1, 8, 3, 0]",
       "as for custom_regnet"},
      {"repvgg_custom", "struct", "[0, 1, 1, 1]", "1 to 1000 blocks"},
      {"vit_base", "patch_size", "[16, 15]", "do not fill images of 224"},
      {"shufflenet_v2_custom5", "stages_out_channels", "[8, 7, 16, 16, 32]",
       "the middle three even"},
      {"custom_densenet", "structure", "[6, 0]", "1 to 1000 layers"},
  };
  for (const auto& c : cases) {
    Problems problems;
    Node params = Required(c.name);
    params.Set(c.key, Value(c.value));
    EXPECT_EQ(MakeModel(c.name, params, problems), nullptr) << c.name;
    EXPECT_NE(FormatProblems(problems).find(c.part), std::string::npos)
        << c.name << FormatProblems(problems);
  }
}

TEST(Models, BuildFusedNetworksForEvaluation) {
  Problems problems;
  Node params = Required("repvgg_custom");
  params.Set("build_residual_branches", Node::Bool(false));
  const auto model = MakeModel("repvgg_custom", params, problems);
  ASSERT_NE(model, nullptr) << FormatProblems(problems);
  EXPECT_FALSE(model->training());
  EXPECT_NE(model->Find("stage4.0.rbr_reparam"), nullptr);
  EXPECT_EQ(model->Run(at::ones({2, 3, 64, 64})).sizes(),
            at::IntArrayRef({2, 7}));
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
