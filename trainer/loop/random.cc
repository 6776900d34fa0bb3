#include "trainer/loop/random.h"

#include <cstring>
#include <mutex>

#include "ATen/Context.h"
#include "absl/strings/str_cat.h"
#include "trainer/nn/generator_state.h"

namespace slipway::loop {
namespace {

void Seed(at::Device device, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace

void SeedGenerators(uint64_t seed, at::Device device) {
  Seed(at::kCPU, seed);
  if (!device.is_cpu()) Seed(device, seed);
}

std::string GeneratorState(at::Device device) {
  const at::Tensor state = nn::GeneratorState(device);
  return {static_cast<const char*>(state.const_data_ptr()),
          static_cast<size_t>(state.nbytes())};
}

absl::Status SetGeneratorState(at::Device device, const std::string& bytes) {
  const at::Tensor state = nn::GeneratorState(device);
  const int64_t expected = state.nbytes();
  if (static_cast<int64_t>(bytes.size()) != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the random generator's state has ", bytes.size(), " bytes, expected ",
        expected, ": it is another version's or another device's"));
  }
  std::memcpy(state.mutable_data_ptr(), bytes.data(), bytes.size());
  nn::SetGeneratorState(device, state);
  return absl::OkStatus();
}

}  // namespace slipway::loop
