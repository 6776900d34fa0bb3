#!/bin/bash
# Runs the README's two commands where nothing is installed: in a minimal Debian
# 12 that holds the committed tree and no more. Needs root, debootstrap, 12 GB.
#
#   sudo tests/tools/fresh_machine.sh [COMMAND...]
#
# Other COMMANDs replace the README's, and SUITE=sid another Debian: the one with
# Bazel 7, which reads MODULE.bazel. This machine's package sources, pip
# settings and certificates are copied in, since the way to the network is its
# own affair. It ends with a line about each command, and with the exit code 0
# only where all of them ended well.
set -eu

[ "$(id -u)" = 0 ] || { echo "fresh_machine.sh needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || {
    echo "fresh_machine.sh needs debootstrap: apt-get install debootstrap" >&2
    exit 2
}

# In namespaces of its own, so that mounts and left-over processes end with it.
if [ -z "${SLIPWAY_FRESH_MACHINE:-}" ]; then
    export SLIPWAY_FRESH_MACHINE=1
    exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi

cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- './bazelw run //trainer -- --recipe=digits_resnet' \
    './bazelw test //...'
suite=${SUITE:-bookworm}
root=$(mktemp -d "${TMPDIR:-/tmp}/fresh_machine.XXXXXX")
# apt gives up its rights before it downloads.
chmod 755 "$root"
trap remove_root EXIT

remove_root() {
    # Lazily, since servers that the commands started may still run.
    umount --recursive --lazy "$root/dev" "$root/sys" || true
    umount --lazy "$root/proc" || true
    rm -rf --one-file-system "$root"
}

# The address from which this machine gets Debian 12 itself.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources \
        /etc/apt/sources.list.d/*.list 2>/dev/null |
        grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' '
}

make_root() {
    debootstrap --variant=minbase "$suite" "$root" "$(mirror)" >/dev/null
    mount --types proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    # The launcher's topology comes from there.
    mount --rbind /sys "$root/sys"
}

copy_settings() {
    local path present=()
    rm -f "$root/etc/apt/sources.list"
    for path in etc/apt/{sources.list,sources.list.d,apt.conf.d,auth.conf.d} \
        etc/apt/trusted.gpg.d usr/share/keyrings etc/pip.conf root/.config/pip \
        etc/ssl/certs usr/share/ca-certificates usr/local/share/ca-certificates \
        etc/ca-certificates.conf etc/resolv.conf etc/hosts; do
        [ ! -e "/$path" ] || present+=("$path")
    done
    tar --create --directory / "${present[@]}" |
        tar --extract --directory "$root"
    if [ "$suite" != bookworm ]; then
        rm -f "$root"/etc/apt/sources.list.d/*
        echo "deb $(mirror) $suite main" >"$root/etc/apt/sources.list"
    fi
}

copy_tree() {
    mkdir "$root/slipway"
    git archive HEAD | tar --extract --directory "$root/slipway"
}

# Of the environment only what says how to reach the network.
in_root() {
    local settings
    mapfile -t settings < <(env | grep -E '^(PIP_|SSL_CERT_|[A-Za-z]+_(proxy|PROXY)=)')
    env --ignore-environment "${settings[@]}" HOME=/root LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$root" /bin/sh -c "cd /slipway && $1"
}

SECONDS=0
make_root
copy_settings
copy_tree
summary="$SECONDS s: a minimal Debian, $suite"
failed=0
for command in "$@"; do
    SECONDS=0
    status=0
    in_root "$command" || status=$?
    summary+=$'\n'"$SECONDS s, exit code $status: $command"
    [ "$status" = 0 ] || failed=1
done
echo "$summary"
exit "$failed"
