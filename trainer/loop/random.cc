#include "trainer/loop/random.h"

#include <mutex>

#include "ATen/Context.h"

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

std::string CpuGeneratorState() {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  const at::Tensor state = generator.get_state();
  return {static_cast<const char*>(state.const_data_ptr()),
          static_cast<size_t>(state.nbytes())};
}

}  // namespace slipway::loop
