// The functions that an interpolation can call: ${add:1,2}.
//
//   add, mul:A,B,...    of numbers        div:A,B       always with a fraction
//   cond:C,A,B          A if C, else B    len:X         of a list, map or text
//   first, last:LIST    an item           getitem:X,K   by position or key
//   class:NAME          NAME as text      hydra_output_dir:ROOT,NAME  a folder
//   roboflow_dataset_num_classes:NAME     from ResolverContext
//
// These are the ones SuperGradients registers, with Python's meaning of true,
// of positions below zero and of mixed numbers. Pure functions.
#ifndef SLIPWAY_TRAINER_RECIPE_RESOLVERS_H_
#define SLIPWAY_TRAINER_RECIPE_RESOLVERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/recipe/node.h"

namespace slipway::recipe {

// What resolvers know beside their arguments.
struct ResolverContext {
  // Roboflow's data sets by name, and how many classes each has.
  std::map<std::string, int64_t> roboflow_classes = {};
};

// The names of all resolvers, sorted.
std::vector<std::string> ResolverNames();

// Calls the resolver `name`. INVALID_ARGUMENT if there is none, or if it cannot
// take `arguments`; the message says what is expected.
absl::StatusOr<Node> CallResolver(std::string_view name,
                                  const std::vector<Node>& arguments,
                                  const ResolverContext& context);

// A value as Python prints it: True, None, 0.1, text, [1, 'a'], {'a': 1}.
std::string PythonText(const Node& node);

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_RESOLVERS_H_
