// Builds a Node from what yaml-cpp finds in a text. Internal to yaml.h.
#ifndef SLIPWAY_TRAINER_RECIPE_YAML_BUILDER_H_
#define SLIPWAY_TRAINER_RECIPE_YAML_BUILDER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/yaml_text.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/mark.h"

namespace slipway::recipe {

// Appends a problem for each thing that is wrong, and goes on. Throws
// YAML::ParserException for what has too many levels or values. `text` and
// `problems` must outlive it.
class YamlBuilder : public YAML::EventHandler {
 public:
  YamlBuilder(const YamlText& text, std::string kind, Problems& problems);

  // The document's value; null if it has none.
  Node TakeRoot();

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor, const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override;
  void OnMapStart(const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override;

 private:
  // A value with what it costs to copy it.
  struct Value {
    Node node;
    size_t count = 1;          // nodes in it
    size_t levels = 1;         // of nesting
    bool plain = false;        // an unquoted word, which may be `<<`
    YAML::Mark position = {};  // of a scalar
  };
  // A key whose value is still to come.
  struct Key {
    std::string name;
    Mark mark;
    YAML::Mark position;
    bool is_merge = false;
    bool is_wrong = false;
  };
  // A list or map that is not complete.
  struct Frame {
    Value value;
    YAML::anchor_t anchor = 0;
    bool is_flow = false;
    std::optional<Key> key;
    // Maps: each own key's place, and what `<<` brings in.
    std::unordered_map<std::string, Mark> own;
    std::vector<Node> merges;
  };

  void Start(Node node, YAML::anchor_t anchor, const YAML::Mark& mark,
             YAML::EmitterStyle::value style);
  void End();
  // Puts a complete value where it belongs.
  void Add(Value value, YAML::anchor_t anchor);
  void AddToMap(Frame& frame, Value value);
  void CheckIndent(const Key& key, const Value& value);
  Key ToKey(const Value& value);
  void AddMerge(Frame& frame, Node node);
  void ApplyMerges(Frame& frame);
  Node Typed(const Mark& place, const std::string& tag,
             const std::string& text);
  void CheckCollectionTag(const Mark& place, const std::string& tag,
                          const char* expected);
  void CheckTab(const YAML::Mark& mark);
  void CheckOmission(const Frame& frame, Mark& place);
  void Count(size_t nodes, size_t levels, const YAML::Mark& mark);
  void Fail(std::string message, std::vector<Mark> where,
            std::string hint = {});

  const YamlText& text_;
  const std::string kind_;
  Problems& problems_;
  std::vector<Frame> open_;
  std::unordered_map<YAML::anchor_t, Value> anchors_;
  Node root_;
  size_t count_ = 0;
  int documents_ = 0;
  int line_with_tab_ = -1;  // the last one reported
};

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_YAML_BUILDER_H_
