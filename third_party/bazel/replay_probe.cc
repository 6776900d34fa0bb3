// A fuzz target for replay_test.sh: tells the size of each input, and ends the
// program on one that starts with an exclamation mark.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::printf("%zu bytes\n", size);
  if (size > 0 && data[0] == '!') std::abort();
  return 0;
}
