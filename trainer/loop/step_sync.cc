#include "trainer/loop/step_sync.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/strings/str_cat.h"
#include "trainer/dist/collectives.h"
#include "trainer/loop/return_if_error.h"

namespace slipway::loop {
namespace {

std::vector<at::Tensor> Tensors(const std::vector<nn::NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

}  // namespace

StepSync::StepSync(dist::ProcessGroup& group, const nn::Module& model,
                   dist::BufferPolicy policy)
    : group_(group),
      gradients_(group, Tensors(model.NamedParameters()), kNotes),
      buffers_(group, Tensors(model.NamedBuffers()), policy) {}

void StepSync::Begin(bool finite, Speak speak) {
  buffers_.Begin(/*as_before=*/!finite);
  gradients_.Begin([speak = std::move(speak)](absl::Span<float> notes) {
    Word word;
    speak(word);
    const Notes own = ToNotes(word);
    std::copy(own.begin(), own.end(), notes.begin());
  });
}

absl::StatusOr<Agreement> StepSync::Finish() {
  const absl::StatusOr<std::vector<float>> notes = gradients_.Finish();
  if (!notes.ok()) return notes.status();
  SLIPWAY_RETURN_IF_ERROR(buffers_.Finish());
  const Agreement all = FromNotes(*notes, group_.world_size());
  if (all.same_step) return all;
  return absl::FailedPreconditionError(
      "the ranks have taken different numbers of steps: a hook has skipped one "
      "for a reason that not all of them have");
}

absl::StatusOr<std::string> StepSync::Reason(const std::string& own) {
  absl::StatusOr<std::vector<std::string>> told = dist::AllGather(group_, own);
  if (!told.ok()) return told.status();
  for (size_t rank = 0; rank < told->size(); ++rank) {
    if ((*told)[rank].empty()) continue;
    return absl::StrCat("rank ", rank, ": ", (*told)[rank]);
  }
  return own;
}

}  // namespace slipway::loop
