#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan timeout=300
# Visitors of an open version in .datasetfs/versions who come at the same moment while the device does not answer: one
# of them waits for it, the others do not. Many workers see them at once; each version is one try.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_loop
need_throttle

truncate -s 64M disk
loop_device disk
mkdir source
labels=()
for i in {1..16}; do
    labels+=("v$i")
    echo "in $i" >source/file
    pack "$LOOP" source --label "v$i"
done
mount_volume "$LOOP" mnt -o channel=dev,io=threads
throttle $SERVER
coproc VISITORS { exec python3 "$DATASETFS_SOURCE/tests/fuse/visitors.py" mnt/.datasetfs/versions file "${labels[@]}"; }
visitors=$VISITORS_PID
# Copies: the shell forgets the coprocess and its descriptors when it has ended, whether its last line was read or not.
exec {said}<&"${VISITORS[0]}" {told}>&"${VISITORS[1]}"
tries=0
while read -r -u "$said" word waiting; do
    case $word in
    expired) expire mnt/.datasetfs/versions "${labels[@]}" ;;
    held) throttle_reads 1 ;;
    free) throttle_reads 0 ;;
    *)
        assert_eq "how many visitors of '$word' wait" "$waiting" 1
        tries=$((tries + 1))
        continue
        ;;
    esac
    echo "$word" >&"$told"
done
wait "$visitors" || fail "a visitor failed"
assert_eq "versions that were visited" "$tries" 16
unmount mnt
