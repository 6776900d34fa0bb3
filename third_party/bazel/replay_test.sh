#!/bin/bash
# replay.cc: hands over every file whole and in order, names the one that ends
# the program, and does not let an empty corpus pass.
set -u

probe=$PWD/$1
cd "$TEST_TMPDIR" || exit 1
mkdir -p good/nested bad empty
printf 'abc' >good/2
printf 'a\0\n' >good/1
printf '' >good/3
printf '!' >bad/culprit
printf 'fine' >bad/zzz

fail() {
    echo "failed: $1" >&2
    exit 1
}

expected='good/1
3 bytes
good/2
3 bytes
good/3
0 bytes
3 inputs replayed'
[ "$("$probe" good)" = "$expected" ] || fail "the inputs of one folder"

"$probe" good bad >output 2>errors && fail "a fatal input passed"
[ "$(grep / output | tail -n 1)" = bad/culprit ] || fail "the fatal input has no name"

"$probe" empty >output && fail "an empty corpus passed"
"$probe" >output && fail "no corpus at all passed"
exit 0
