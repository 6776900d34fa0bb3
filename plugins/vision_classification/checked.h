// Builds a component from its parameters, or reports all that is wrong.
//
//   return BuildChecked<data::Transform>(
//       args, "transform CenterCrop", [](recipe::Params& params) {
//         return std::make_unique<CenterCrop>(ReadSize(params, "size"));
//       });
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_CHECKED_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_CHECKED_H_

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "trainer/plugin/components.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/params.h"
#include "trainer/recipe/problem.h"

namespace slipway::vision_classification {

// Calls make(params), which reads every parameter that there is and returns a
// unique_ptr to what they describe: any, or null, once params.Fail() was
// called. The result is null if and only if an error was appended to
// args.problems, such as a parameter that `make` did not ask for.
template <typename T, typename Make>
std::unique_ptr<T> BuildChecked(const BuildArgs& args, std::string owner,
                                Make make) {
  Problems problems;
  recipe::Params params(args.params, std::move(owner), problems);
  std::unique_ptr<T> made = make(params);
  params.Finish();
  if (HasErrors(problems)) made = nullptr;
  std::move(problems.begin(), problems.end(),
            std::back_inserter(args.problems));
  return made;
}

// Sets `member` to read(params) of the one parameter `key`, whose value is
// `value`: for Set(). An error leaves `member` as it was.
template <typename T, typename Read>
absl::Status SetChecked(std::string_view key, const recipe::Node& value,
                        Read read, T& member) {
  recipe::Node node = recipe::Node::Map();
  node.Set(key, value);
  Problems problems;
  recipe::Params params(node, "the loader", problems);
  T result = read(params);
  if (!HasErrors(problems)) member = std::move(result);
  return ToStatus(problems);
}

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_CHECKED_H_
