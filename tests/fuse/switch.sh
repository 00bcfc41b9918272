#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon ring in=gcc,tsan timeout=400
# Two versions, of other chunks, alternate a hundred times and more, a thousand with --all, under readers, over both
# channels and by both ways to tell the kernel: every file is wholly of one version, no open after a switch sees the old
# one, memory and descriptors stay what they were, and a version is closed when the kernel has forgotten it.
. "$(dirname "$0")/../lib/common.sh"
. "$LIB/two_sources.sh"
need_fuse
need_root
need_command python3

rounds=$(length 200 1200)
[ -z "${DATASETFS_SANITIZER:-}" ] || rounds=$(length 60 1000)

two_sources
pack volume source0 --label v0
pack volume source1 --label v1 --compress auto --chunk-size 64K --no-current

generations() {
    python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["generations"]))' "$1/.datasetfs/stats.json"
}

# descriptors: what the server has open
descriptors() {
    find "/proc/$SERVER/fd" -type l -printf '%l\n' | sort
}

# has_settled: $before is what it has open, twice
has_settled() {
    local last=$before
    before=$(descriptors)
    [ "$before" = "$last" ]
}

has_descriptors() {
    [ "$(descriptors)" = "$1" ]
}

run() {
    local before=
    # Reading ahead takes memory when a reader first looks like a walker, whenever that is.
    mount_volume volume mnt -o "$1,readahead=off"
    wait_for 20 has_settled || fail "$1: it opens and closes: $before"
    python3 "$(dirname "$0")/switch.py" source0 source1 mnt $rounds $SERVER || fail "$1: $(tail -n 3 daemon.log)"
    assert_eq "switches of $1" "$(stats mnt switches)" $rounds
    wait_for 60 one_open mnt || fail "$1: $(generations mnt) versions are open with nobody in the old one"
    # The last descriptor of a version is closed a moment after it left the table.
    wait_for 10 has_descriptors "$before" || fail "$1: descriptors at first $before, now $(descriptors)"
    compare source$((rounds % 2)) mnt
    unmount mnt
    say "$1"
}

# one_open MOUNT: only the current version is open
one_open() {
    [ "$(generations "$1")" = 1 ]
}

# has_epochs: the kernel has the message of one epoch for all names
has_epochs() {
    local rc=0
    mount_volume volume mnt -o channel=dev,notify=epoch
    datasetfsctl switch mnt v1 >switch.out 2>&1 || rc=$?
    unmount mnt
    [ $rc = 0 ] || grep -q "a new epoch: Invalid argument" switch.out || fail "notify=epoch: $(cat switch.out)"
    return $rc
}

how=epoch
has_epochs || how=auto
run channel=dev,notify=$how
run channel=dev,notify=entries
[ -n "${DATASETFS_SANITIZER:-}" ] || run channel=dev,io=threads
ring_switch Y || skip "FUSE over io_uring is missing or cannot be turned on: only /dev/fuse was tested"
run channel=ring
run channel=ring,notify=entries
[ $how = auto ] || ! grep -q "invalidated one by one" daemon.log || fail "notify=auto does not take the kernel's epochs"
