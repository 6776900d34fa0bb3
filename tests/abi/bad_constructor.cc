// A library whose static constructor does what $SLIPWAY_TEST_ODDITY says.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

__attribute__((constructor)) void Misbehave() {
  const char* const oddity = getenv("SLIPWAY_TEST_ODDITY");
  if (oddity == nullptr) return;
  if (strcmp(oddity, "crashes") == 0) raise(SIGSEGV);
  if (strcmp(oddity, "exits") == 0) exit(3);
  while (strcmp(oddity, "hangs") == 0) pause();
}

}  // namespace
