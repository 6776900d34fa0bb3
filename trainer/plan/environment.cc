#include "trainer/plan/environment.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "libtorch_version.h"
#include "trainer/plan/cpu_isa.h"

namespace slipway::plan {
namespace {

// Whether CUDA's driver is here and shows a device. Asked of the driver itself,
// so that nothing needs to be linked, and CUDA_VISIBLE_DEVICES counts.
bool HasCudaDevice() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return false;
  using InitFunction = int(unsigned flags);
  using CountFunction = int(int* count);
  const auto init = reinterpret_cast<InitFunction*>(dlsym(driver, "cuInit"));
  const auto get_count =
      reinterpret_cast<CountFunction*>(dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  // The driver stays loaded: it cannot be closed once it has been initialised.
  return init != nullptr && get_count != nullptr && init(0) == 0 &&
         get_count(&count) == 0 && count > 0;
}

int PositiveFromEnvironment(const char* name, int fallback) {
  const char* const text = std::getenv(name);
  int value = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &value)) return fallback;
  return value > 0 ? value : fallback;
}

bool IsSet(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr && std::string_view(text) == "1";
}

constexpr std::string_view kArch =
#if defined(__x86_64__)
    "x86_64";
#elif defined(__aarch64__)
    "aarch64";
#else
    "other";
#endif

}  // namespace

Environment DetectEnvironment() {
  const CpuIsa cpu = DetectCpuIsa();
  Environment here;
  here.world_size = PositiveFromEnvironment("WORLD_SIZE", 1);
  here.device = HasCudaDevice() ? "cuda" : "cpu";
  here.cpu_isa = cpu.name;
  here.cpu_bf16 = cpu.bf16;
  here.libtorch_version = kLibtorchVersion;
  here.os = "linux";
  here.arch = kArch;
  here.auto_lr = IsSet("SLIPWAY_AUTO_LR");
  return here;
}

}  // namespace slipway::plan
