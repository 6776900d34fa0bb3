#include "trainer/checkpoint/average.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/checkpoint_keys.h"
#include "trainer/checkpoint/quoted.h"
#include "trainer/checkpoint/tensor_file.h"

namespace slipway {
namespace {

// One file, whose tensors are loaded by their place in "net".
struct Source {
  std::string path;
  TensorFile file;
  const PickleValue& net() const { return *file.tree().Find(keys::kNet); }
};

absl::StatusOr<Source> Open(const std::string& path) {
  absl::StatusOr<TensorFile> file = TensorFile::Open(path);
  if (!file.ok()) return file.status();
  if (file->tree().Find(keys::kNet) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a key \"", keys::kNet, "\""));
  }
  return Source{path, *std::move(file)};
}

absl::Status Differs(const Source& source, const std::string& name) {
  return absl::InvalidArgumentError(
      absl::StrCat(source.path, ": differs from the first file at ",
                   Quoted(name), "; nets of one model have one mean"));
}

bool SameShape(const PickledTensor* a, const PickledTensor* b) {
  return a != nullptr && b != nullptr && a->dtype == b->dtype &&
         a->sizes == b->sizes;
}

absl::StatusOr<at::Tensor> LoadOne(Source& source, size_t index) {
  const PickleValue& value = source.net().entries()[index].second;
  absl::StatusOr<at::Tensor> tensor = source.file.Load(*value.tensor());
  source.file.Forget();
  return tensor;
}

absl::StatusOr<at::Tensor> Mean(std::vector<Source>& sources, size_t index) {
  absl::StatusOr<at::Tensor> last = LoadOne(sources.back(), index);
  if (!last.ok() || !(last->is_floating_point() || last->is_complex())) {
    return last;
  }
  const at::ScalarType type = last->scalar_type();
  at::Tensor sum =
      last->to(last->is_complex() ? at::kComplexDouble : at::kDouble);
  for (size_t i = 0; i + 1 < sources.size(); ++i) {
    absl::StatusOr<at::Tensor> tensor = LoadOne(sources[i], index);
    if (!tensor.ok()) return tensor;
    sum.add_(*tensor);
  }
  return sum.div_(static_cast<double>(sources.size())).to(type);
}

absl::Status CheckSame(const std::vector<Source>& sources) {
  const auto& first = sources.front().net().entries();
  for (const Source& source : sources) {
    const auto& entries = source.net().entries();
    for (size_t i = 0; i < first.size(); ++i) {
      const std::string& name = first[i].first.text();
      if (i >= entries.size() || entries[i].first.text() != name ||
          !SameShape(entries[i].second.tensor(), first[i].second.tensor())) {
        return Differs(source, name);
      }
    }
    if (entries.size() > first.size()) {
      return Differs(source, entries[first.size()].first.text());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<nn::NamedTensor>> AverageNets(
    const std::vector<std::string>& paths) {
  std::vector<Source> sources;
  for (const std::string& path : paths) {
    absl::StatusOr<Source> source = Open(path);
    if (!source.ok()) return source.status();
    sources.push_back(*std::move(source));
  }
  if (absl::Status same = CheckSame(sources); !same.ok()) return same;
  std::vector<nn::NamedTensor> result;
  const auto& entries = sources.front().net().entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    absl::StatusOr<at::Tensor> mean = Mean(sources, i);
    if (!mean.ok()) return mean.status();
    result.emplace_back(entries[i].first.text(), *std::move(mean));
  }
  return result;
}

}  // namespace slipway
