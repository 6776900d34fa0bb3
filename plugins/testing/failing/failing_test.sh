#!/bin/sh
# Every check of conformance fails where it should, and passes where it should.
#
#   failing_test.sh CONFORMANCE LIBRARY EXPORTING_LIBRARY MANIFEST README
set -eu

conformance=$1 library=$2 exporting=$3 manifest=$4 readme=$5
plugin=$TEST_TMPDIR/failing

fail() {
    echo "$*" >&2
    exit 1
}

# A plugin's folder, whose manifest sed changes by $1; its library is $2.
build() {
    rm -rf "$plugin"
    mkdir -p "$plugin"
    cp "${2:-$library}" "$plugin/libfailing.so"
    # The state that the version before has written.
    sed 's/version: 2/version: 1/' "$manifest" >"$plugin/plugin.yaml"
    "$conformance" --write_state="$plugin/state_v1.pth" "$plugin"
    sed "$1" "$manifest" >"$plugin/plugin.yaml"
}

# Check $1 must fail on the plugin, with a reason that has $2 in it.
must_fail() {
    code=0
    said=$("$conformance" --check="$1" "$plugin") || code=$?
    [ "$code" = 1 ] || fail "$1 exits with $code: $said"
    echo "$said" | grep -q "^$1 failed " || fail "$1 has not failed: $said"
    echo "$said" | grep -q -- "$2" || fail "$1 gives no reason \"$2\": $said"
    echo "$said" | grep -q "^  remedy: ." || fail "$1 has no remedy: $said"
    tested="$tested $1"
}

tested=
has() { echo "s/default: none/default: $1/"; }

build ""
"$conformance" "$plugin" || fail "the plugin without a fault"
"$conformance" "$plugin" | grep -q '^PLG_009 ok     old_state_loads$' ||
    fail "old states are not checked"

build "s/version: 1.0.0/version: 9.9.9/"
must_fail PLG_001 'version: manifest "9.9.9", library "1.0.0"'
build "" "$exporting"
must_fail PLG_002 'symbols, such as'
must_fail PLG_002 'it calls exit()'
build "$(has alone)"
must_fail PLG_003 'where is the other?'
build "$(has bound)"
must_fail PLG_004 'with amount: 1.*allows'
build "$(has leak)"
must_fail PLG_005 'have left .* bytes behind'
build "s/, AfterOptimizer//"
must_fail PLG_006 'AfterOptimizer is overridden and not declared'
build "s/AfterOptimizer/AfterOptimizer, StepEnd/"
must_fail PLG_006 'StepEnd is declared and not overridden'
build "$(has disturb)"
must_fail PLG_007 'it changes the number of threads'
build "$(has state)"
must_fail PLG_008 'differs in losses'
build "$(has old_state)"
must_fail PLG_009 'what was that again?'
rm "$plugin/state_v1.pth"
must_fail PLG_009 'there is no state_v1.pth'
build "$(has ranks)"
must_fail PLG_010 'on rank 1'
build "$(has neighbour)"
must_fail PLG_011 'fails in Configure: the process '
build "$(has close)"
must_fail PLG_012 'after a training: open files: .*/dev/null'
build "$(has phase)"
must_fail PLG_013 'AfterOptimizer changes the model'
build "$(has fuzz)"
must_fail PLG_014 'with --seed=1, number .*"text":"".*: the process '
build "$(has optimizer)"
must_fail PLG_015 'Growing: resumed after its first epoch.*differs in losses'

ids=$("$conformance" --list | cut -d ' ' -f 1)
for id in $ids; do
    case $tested in *"$id"*) ;; *) fail "nothing proves that $id can fail" ;; esac
done
documented=$(sed -n 's/^### \(PLG_[0-9]*\) .*/\1/p' "$readme")
[ "$ids" = "$documented" ] || fail "README.md documents $documented"

# Usage.
code=0
"$conformance" --check=PLG_999 "$plugin" 2>"$TEST_TMPDIR/error" || code=$?
[ "$code" = 2 ] || fail "a check that is none: exit code $code"
grep -q 'no check "PLG_999"' "$TEST_TMPDIR/error"
code=0
"$conformance" 2>"$TEST_TMPDIR/error" || code=$?
[ "$code" = 2 ] || fail "no plugin: exit code $code"
echo "id: [" >"$plugin/plugin.yaml"
code=0
"$conformance" "$plugin" >"$TEST_TMPDIR/said" || code=$?
[ "$code" = 1 ] || fail "no manifest: exit code $code"
grep -q '^PLG_001 failed' "$TEST_TMPDIR/said"
