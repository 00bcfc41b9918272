#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain
# A switch does not wait until the kernel has dropped what it knows of the version before: by node numbers, or name by
# name where the kernel cannot do that. Where the names must be told, the time that is reported counts from the arrival.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
hold_caches # there are names to drop
need_command python3

c_program lib/hold_notify -shared -fPIC -ldl
for i in 1 2; do
    mkdir -p "source$i/directory"
    for name in one two three directory/four; do echo "$i $name" >"source$i/$name"; done
    pack volume "source$i" --label "v$i" --no-current
done
export NOTIFY_HOLD=$PWD/hold NOTIFY_HELD=$PWD/held

# serve OPTIONS [VAR=VALUE]: a mount of v1; what it tells from now on of names is held, and the kernel knows all
serve() {
    rm -f hold held
    export LD_PRELOAD=$PWD/hold_notify NOTIFY_REFUSE=${2:-}
    mount_volume volume mnt -o "version=v1,$1"
    unset LD_PRELOAD NOTIFY_REFUSE
    compare source1 mnt
    touch hold
}

one_is_open() {
    ! stats mnt generations.1.label
}

# in_turn: switches while what the first one left is being dropped
in_turn() {
    local version
    for version in 2 1 2; do
        timeout 60 datasetfsctl switch mnt v$version >/dev/null || fail "the switch to v$version waits for names"
        wait_for 20 test -e held || fail "no names are dropped"
        assert_eq "a file" "$(cat mnt/one)" "$version one"
    done
    rm hold
    wait_for 20 one_is_open || fail "what was left stays open: $(cat mnt/.datasetfs/stats.json)"
    compare source2 mnt
    unmount mnt
}

serve notify=epoch
in_turn
say "nodes are dropped"
serve notify=epoch 9
in_turn
say "names are dropped one by one"

are_in_flight() {
    [ "$(stats mnt in_flight)" = $(($1 + 1)) ] # and the one that looks
}

serve notify=entries
datasetfsctl switch mnt v2 >/dev/null &
first=$!
wait_for 20 test -e held || fail "no names are told"
datasetfsctl switch --json mnt v1 >second.json &
second=$!
wait_for 20 are_in_flight 2 || fail "the second switch does not come"
since=$(date +%s%N)
kill -0 $first || fail "the first switch does not wait"
until=$(date +%s%N)
rm hold
wait $first $second || fail "a switch failed"
reported=$(json prepare_us second.json)
[ "$reported" -ge $(((until - since) / 1000)) ] ||
    fail "$reported us are reported, the caller waited $(((until - since) / 1000))"
compare source1 mnt
unmount mnt
