#include "trainer/json_node.h"

#include <limits>

#include "gtest/gtest.h"

namespace slipway {
namespace {

using Json = nlohmann::ordered_json;
using recipe::Node;

TEST(NodeFromJson, KeepsKindsAndOrder) {
  const Json json = {{"b", 1},          {"a", 0.5},     {"c", true},
                     {"d", "text"},     {"e", nullptr}, {"f", {1, 2}},
                     {"g", {{"h", -3}}}};
  const Node node = NodeFromJson(json, {"program", 0, 0});
  EXPECT_EQ(node.ToJson(), json);
  EXPECT_EQ(node.keys().front(), "b");
  EXPECT_TRUE(node.Find("b")->is_int());
  EXPECT_EQ(node.FindPath("g.h")->AsInt(), -3);
  EXPECT_EQ(node.FindPath("g.h")->mark().file, "program");
}

TEST(NodeFromJson, TakesLargeIntegersAsNumbers) {
  EXPECT_TRUE(
      NodeFromJson(Json(std::numeric_limits<int64_t>::max()), {}).is_int());
  const Node large = NodeFromJson(Json(~uint64_t{0}), {});
  EXPECT_FALSE(large.is_int());
  EXPECT_TRUE(large.is_number());
}

}  // namespace
}  // namespace slipway
