# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A machine of its own in a fresh root (tests/lib/fresh_root.sh): process 1, mounts, network and /run are its own.
# Needs ip, nsenter and pivot_root.

# machine_begin ROOT: it ends with the test. Its address, 192.0.2.1, is no loopback one, or getaddrinfo(3) finds no
# family.
machine_begin() {
    mkdir -p "$1/old"
    cat >"$1/first" <<'END'
#!/bin/bash
# Process 1 of the machine: waits, and takes what others leave.
trap : TERM
while :; do sleep 600 & wait; done
END
    chmod +x "$1/first"
    unshare --mount --pid --net --fork --kill-child --propagation private bash -ec '
        ip link set lo up
        ip addr add 192.0.2.1/32 dev lo
        mount --rbind "$0" "$0"
        cd "$0"
        mount --rbind /dev dev
        mount --rbind /sys sys
        mount -t proc proc proc
        mount -t tmpfs run run
        pivot_root . old
        umount -l /old
        exec /first' "$1" &
    wait_for 20 pgrep -P $! || fail "no machine"
    FIRST=$(pgrep -P $!)
    at_exit kill -KILL "$FIRST" # unshare takes no SIGTERM
    wait_for 20 machine test -x /first || fail "the machine does not start"
}

# machine COMMAND…: as root there
machine() {
    nsenter --target "$FIRST" --mount --pid --net \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root "$@"
}
