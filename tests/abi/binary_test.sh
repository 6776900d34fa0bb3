#!/bin/sh
# The libraries of plugins from outside: one export, everything else shared.
#
#   binary_test.sh BAD_LIBRARY LIBRARY...
#
# BAD_LIBRARY has a copy of the core in it and must be found out. Arguments that
# are no libraries are passed over.
set -eu

# What is wrong with library $1, a line each.
violations() {
    exports=$(nm -D --defined-only "$1" | awk '{ print $3 }' | tr '\n' ' ')
    [ "$exports" = "slipway_plugin_entry_v1 " ] || echo "exports $exports"

    dynamic=$(readelf -d "$1")
    echo "$dynamic" | grep -q 'NEEDED.*\[libslipway_core\.so\]' || echo "does not need libslipway_core.so"
    ! echo "$dynamic" | grep -E 'R(UN)?PATH' || echo "has a path of its own"
    ! echo "$dynamic" | grep 'NEEDED.*/' || echo "needs a library by its path"

    # Key functions, which only one file of each library defines.
    nm -C --defined-only "$1" | grep -E ' (slipway::(Plugin::Plugin|recipe::Node::Node|nn::Module::Module)|google::(LogMessage::LogMessage|InitGoogleLogging)|(google|gflags)::(FlagRegisterer|ParseCommandLineFlags)|absl::.*::Status::ToStringSlow|c10::Error::Error)\(' |
        sed 's/^/has a copy of /' || true
}

fail() {
    echo "$*" >&2
    exit 1
}

bad=$1
shift
violations "$bad" | grep -q 'copy of .*slipway::Plugin::Plugin' || fail "did not find the core inside $bad"
violations "$bad" | grep -q '^exports .*_ZN7slipway' || fail "did not find the exports of $bad"

checked=0
for library in "$@"; do
    case $library in
    *.so)
        found=$(violations "$library")
        [ -z "$found" ] || fail "$library: $found"
        checked=$((checked + 1))
        ;;
    esac
done
[ "$checked" -gt 0 ] || fail "no library to check"
echo "$checked libraries are as they should be"
