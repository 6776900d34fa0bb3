// For tests that load and unload compiled code: at their end LeakSanitizer
// looks for the memory of threads in libraries that are gone, and crashes.
#ifndef SLIPWAY_PLUGINS_COMPILE_TEST_NO_LEAK_CHECK_H_
#define SLIPWAY_PLUGINS_COMPILE_TEST_NO_LEAK_CHECK_H_

extern "C" int __lsan_is_turned_off();
int __lsan_is_turned_off() { return 1; }

#endif  // SLIPWAY_PLUGINS_COMPILE_TEST_NO_LEAK_CHECK_H_
