#include "trainer/loop/random.h"

#include <cstring>
#include <mutex>

#include "ATen/Context.h"
#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"

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
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  const at::Tensor state = generator.get_state();
  return {static_cast<const char*>(state.const_data_ptr()),
          static_cast<size_t>(state.nbytes())};
}

absl::Status SetGeneratorState(at::Device device, const std::string& bytes) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  const int64_t expected = generator.get_state().nbytes();
  if (static_cast<int64_t>(bytes.size()) != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the random generator's state has ", bytes.size(), " bytes, expected ",
        expected, ": it is another version's or another device's"));
  }
  const at::Tensor state = at::empty({expected}, at::dtype(at::kByte));
  std::memcpy(state.mutable_data_ptr(), bytes.data(), bytes.size());
  generator.set_state(state);
  return absl::OkStatus();
}

}  // namespace slipway::loop
