#include "trainer/data/dataset.h"

#include "absl/strings/str_cat.h"

namespace slipway::data {
namespace {

absl::Status NoParameter(std::string_view parameter) {
  return absl::NotFoundError(absl::StrCat("there is no parameter \"",
                                          std::string(parameter), "\" to set"));
}

}  // namespace

Dataset::~Dataset() = default;

Transform::~Transform() = default;

absl::Status Transform::Set(std::string_view parameter, const recipe::Node&) {
  return NoParameter(parameter);
}

Collate::~Collate() = default;

absl::Status Collate::Set(std::string_view parameter, const recipe::Node&) {
  return NoParameter(parameter);
}

Sampler::~Sampler() = default;

absl::Status Sampler::Set(std::string_view parameter, const recipe::Node&) {
  return NoParameter(parameter);
}

}  // namespace slipway::data
