// Builds transforms as recipes do, and applies them to one image: for tests.
//
//   at::Tensor image = Apply("Resize", "{size: 8}", bytes).value();
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_TESTING_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "plugins/vision_classification/transforms/transforms.h"
#include "trainer/recipe/yaml.h"

namespace slipway::vision_classification {

// Of transforms' parameters only the sample matters here.
class NoDataset : public data::Dataset {
 public:
  int64_t size() const override { return 0; }
  absl::StatusOr<data::Sample> Get(int64_t) const override {
    return absl::UnimplementedError("has no samples");
  }
};

struct Built {
  std::unique_ptr<data::Transform> transform;
  Problems problems;
};

// The transform `name` with `params`, YAML.
inline Built Build(const std::string& name, const std::string& params) {
  Built built;
  Components components;
  RegisterTransforms(components);
  const recipe::Node node =
      recipe::ParseYaml(params, "r.yaml", built.problems).value();
  const recipe::Node recipe;
  const auto* factory = components.transforms.Find(name);
  built.transform =
      (*factory)(BuildArgs{node, recipe, components, built.problems});
  return built;
}

inline absl::StatusOr<at::Tensor> Apply(const data::Transform& transform,
                                        const at::Tensor& image,
                                        uint64_t seed = 0) {
  data::Sample sample;
  sample.image = image;
  data::Rng rng(seed, 0, 0);
  const absl::Status status = transform.Apply(sample, NoDataset(), rng);
  if (!status.ok()) return status;
  return sample.image;
}

inline absl::StatusOr<at::Tensor> Apply(const std::string& name,
                                        const std::string& params,
                                        const at::Tensor& image,
                                        uint64_t seed = 0) {
  const Built built = Build(name, params);
  EXPECT_NE(built.transform, nullptr) << FormatProblems(built.problems);
  return Apply(*built.transform, image, seed);
}

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_TESTING_H_
