#!/bin/bash
# Line coverage of the tests, by gcov and lcov: coverage.sh [TARGET...]
#
# Writes coverage.info, and coverage/index.html to look at. Bazel's own coverage
# needs tools that it would have to download.
set -eu

cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- //...
flags="--config=coverage --noshow_progress"

# shellcheck disable=SC2086
execution_root=$(./bazelw info $flags execution_root)
objects=$execution_root/bazel-out
# Counters of earlier runs would be added to.
[ ! -d "$objects" ] || find "$objects/" -name '*.gcda' -delete

# Compilers run in /proc/self/cwd: without these three folders the counters land
# beside the notes of the same object. A failed test still has covered lines.
status=0
# shellcheck disable=SC2086
./bazelw test $flags --keep_going --test_env=GCOV_PREFIX="$execution_root" \
    --test_env=GCOV_PREFIX_STRIP=3 "$@" || status=$?

lcov --quiet --capture --directory "$objects/" --no-external \
    --base-directory "$execution_root" --output-file coverage.info
lcov --quiet --remove coverage.info '*/external/*' '*_test.cc' \
    --output-file coverage.info
genhtml --quiet --output-directory coverage coverage.info
lcov --list coverage.info
exit "$status"
