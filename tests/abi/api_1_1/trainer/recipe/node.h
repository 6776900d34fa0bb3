// A recipe's tree: YAML values that know where they were written.
//
//   const recipe::Node* lr = root.FindPath("training_hyperparams.initial_lr");
//   if (lr != nullptr && lr->is_number()) Use(lr->AsDouble(), lr->mark());
//
// Nodes are values: copying copies the whole subtree. Maps keep the order in
// which keys were first set. Not synchronised; const access from several
// threads is safe.
#ifndef SLIPWAY_TRAINER_RECIPE_NODE_H_
#define SLIPWAY_TRAINER_RECIPE_NODE_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "tests/abi/api_1_1/trainer/recipe/problem.h"

namespace slipway::recipe {

class Node {
 public:
  enum class Kind { kNull, kBool, kInt, kFloat, kString, kList, kMap };
  struct Entry;

  // Null, of no place.
  Node();
  explicit Node(Mark mark);
  ~Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;

  static Node Bool(bool value, Mark mark = {});
  static Node Int(int64_t value, Mark mark = {});
  static Node Float(double value, Mark mark = {});
  static Node String(std::string value, Mark mark = {});
  static Node List(std::vector<Node> items = {}, Mark mark = {});
  static Node Map(Mark mark = {});

  Kind kind() const;
  // "null", "boolean", "integer", "number", "text", "list" or "map": the word
  // that messages use.
  std::string_view kind_name() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_int() const { return kind() == Kind::kInt; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_map() const { return kind() == Kind::kMap; }
  // An integer or a floating-point number.
  bool is_number() const;

  // Where the value was written (for a value in a map: of the value itself;
  // the key's own place is Entry::key_mark).
  const Mark& mark() const;
  void set_mark(Mark mark);
  // When composition set this value: the number of the file or override among
  // those applied, so that of two values the one with the larger order came
  // later. 0 for a value that composition never touched.
  int order() const;
  void set_order(int order);

  // The value; the kind must fit (CHECKed). AsDouble takes integers too.
  bool AsBool() const;
  int64_t AsInt() const;
  double AsDouble() const;
  const std::string& AsString() const;

  // Lists. Empty for any other kind, where changes have no effect.
  const std::vector<Node>& items() const;
  std::vector<Node>& mutable_items();

  // Maps. Empty, null or a failed CHECK (Set) for any other kind.
  const std::vector<Entry>& entries() const;
  std::vector<Entry>& mutable_entries();
  std::vector<std::string> keys() const;
  const Node* Find(std::string_view key) const;
  Node* Find(std::string_view key);
  // Replaces or appends; the key's place is `key_mark`.
  Node& Set(std::string_view key, Node value, Mark key_mark = {});
  // False if there was no such key.
  bool Erase(std::string_view key);

  // The node at "a.b.c" or "a.b.0" (list positions by number); null if absent.
  // The empty path is this node.
  const Node* FindPath(std::string_view path) const;

  // Equal in kind, value and order of lists; maps compare as sets of entries;
  // marks and orders do not count. An integer never equals a floating-point
  // number; a nan equals a nan.
  bool operator==(const Node& other) const;

  // As JSON (maps keep their order; non-finite numbers as "nan", "inf",
  // "-inf") and as YAML in the block style that the reader reads back equal.
  nlohmann::ordered_json ToJson() const;
  std::string ToYaml() const;
  // One line for messages: 0.1, "text" (quoted), [1, 2], {a: 1}; shortened
  // to about 60 characters.
  std::string ToDisplay() const;

 private:
  const Node* FindStep(std::string_view step) const;

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  int64_t int_ = 0;
  double float_ = 0;
  std::string string_;
  std::vector<Node> items_;
  std::vector<Entry> entries_;
  Mark mark_;
  int order_ = 0;
};

struct Node::Entry {
  std::string key;
  Mark key_mark;
  Node value;
};

// Writes ToDisplay().
std::ostream& operator<<(std::ostream& out, const Node& node);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_NODE_H_
