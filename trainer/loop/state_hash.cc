#include "trainer/loop/state_hash.h"

#include <bit>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "c10/core/ScalarType.h"
#include "nlohmann/json.hpp"
#include "trainer/plan/sha256.h"

namespace slipway::loop {
namespace {

std::string Digest(std::string_view bytes) {
  return plan::Sha256(bytes).substr(0, 32);
}

// Numbers as their bits: a text would be read back, and nan equals itself.
std::string Bits(double value) {
  return absl::StrCat(absl::Hex(std::bit_cast<uint64_t>(value)));
}

std::string MeanText(const MeanState& mean) {
  std::string text = absl::StrCat(mean.samples);
  for (const auto& [part, sum] : mean.sums) {
    absl::StrAppend(&text, " ", part, " ", Bits(sum));
  }
  return text;
}

std::string PlaceText(const Checkpoint& checkpoint) {
  const SamplerState& sampler = checkpoint.sampler;
  const LoopState& loop = checkpoint.loop;
  return absl::StrJoin(
      {checkpoint.epoch, checkpoint.step, sampler.epoch, sampler.samples_done,
       static_cast<int64_t>(sampler.seed), loop.windows, loop.samples,
       loop.micro},
      " ");
}

std::string ResultsText(const Checkpoint& checkpoint) {
  std::string text = absl::StrCat(MeanText(checkpoint.loop.train_loss), "\n",
                                  MeanText(checkpoint.loop.window_loss), "\n",
                                  checkpoint.loop.skip_reason);
  for (const double loss : checkpoint.loop.recent_losses) {
    absl::StrAppend(&text, "\n", Bits(loss));
  }
  for (const auto& [split, metrics] : checkpoint.metrics) {
    // Told, and never used: after a stop in the middle of an epoch they are
    // those of its first part, which no uninterrupted run tells.
    if (split == "train") continue;
    for (const auto& [name, value] : metrics) {
      absl::StrAppend(&text, "\n", split, " ", name, " ", Bits(value));
    }
  }
  if (!checkpoint.best) return text;
  const BestResult& best = *checkpoint.best;
  return absl::StrCat(text, "\nbest ", best.name, " ", Bits(best.value), " ",
                      best.epoch);
}

}  // namespace

std::string HashTensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return Digest("undefined");
  const at::Tensor flat = tensor.detach().cpu().contiguous();
  const std::string values = plan::Sha256(
      {static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()});
  return Digest(absl::StrCat(c10::toString(flat.scalar_type()), " ",
                             absl::StrJoin(flat.sizes(), ","), " ", values));
}

StateHashes HashState(const Checkpoint& checkpoint) {
  StateHashes hashes;
  VisitTensors(checkpoint,
               [&hashes](const std::string& path, const at::Tensor& tensor) {
                 hashes.emplace_back(path, HashTensor(tensor));
               });
  for (const auto& [id, plugin] : checkpoint.plugins) {
    hashes.emplace_back(
        "plugins/" + id,
        Digest(absl::StrCat(plugin.version, " ",
                            plugin.state.values.ToJson().dump())));
  }
  for (size_t rank = 0; rank < checkpoint.rng.size(); ++rank) {
    hashes.emplace_back(absl::StrCat("rng/", rank),
                        Digest(checkpoint.rng[rank]));
  }
  for (size_t rank = 0; rank < checkpoint.device_rng.size(); ++rank) {
    hashes.emplace_back(absl::StrCat("device_rng/", rank),
                        Digest(checkpoint.device_rng[rank]));
  }
  hashes.emplace_back("place", Digest(PlaceText(checkpoint)));
  hashes.emplace_back("results", Digest(ResultsText(checkpoint)));
  return hashes;
}

std::vector<std::string> Differences(const StateHashes& a,
                                     const StateHashes& b) {
  std::map<std::string_view, std::string_view> others(b.begin(), b.end());
  std::vector<std::string> names;
  for (const auto& [name, hash] : a) {
    const auto other = others.find(name);
    if (other == others.end() || other->second != hash) names.push_back(name);
    if (other != others.end()) others.erase(other);
  }
  for (const auto& [name, hash] : b) {
    if (others.count(name) > 0) names.push_back(name);
  }
  return names;
}

}  // namespace slipway::loop
