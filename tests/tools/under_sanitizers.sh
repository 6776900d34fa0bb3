#!/bin/bash
# Runs a test under --config=sanitize, where some leaks are nobody's: what
# libraries keep for a thread, in a process that ends while the thread is there.
#
#   leak:gomp_malloc               libgomp's record of a worker of oneTBB in which
#                                  LibTorch has computed
#   leak:tbb::detail::r1::observe  oneTBB's of an observer, of an arena that a
#                                  worker has not left
set -eu

sed -n 's/^#   \(leak:[^ ]*\).*/\1/p' "$0" >"$TEST_TMPDIR/leaks.supp"
export LSAN_OPTIONS="suppressions=$TEST_TMPDIR/leaks.supp:print_suppressions=0"
exec "$@"
