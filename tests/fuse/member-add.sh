#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan,tsan timeout=400
# Members that are added while mounts of the volume serve: another server takes over with them, and no reader notices
# more than a pause. A switch by hand waits for it, a mount that follows does so by itself, and programs past the mount
# go on. Where no server can take over, the mount serves what it has. Killed servers are followed by one that has them.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/client.sh"
need_fuse
export PATH=$DATASETFS_BUILD/tests/library:$PATH

# change NUMBER: what the version of this number is made of
change() {
    rm -rf "source$1"
    mkdir "source$1"
    for i in {1..60}; do head -c $((i * 990)) /dev/urandom >"source$1/$i"; done
    head -c 2000000 /dev/urandom >"source$1/large"
}

follows() {
    [ "$(json label mnt/.datasetfs/version)" = "$1" ]
}

members() {
    python3 -c 'import json; print(len(json.load(open("mnt/.datasetfs/stats.json"))["members"]))'
}

# past: programs past the mount see what programs see that open the volume
past() {
    WAY=direct library-way mnt sums | sort >past
    VERSION=$(json label mnt/.datasetfs/version) WAY=direct library-way a sums | sort | cmp - past ||
        fail "past the mount"
}

for i in 1 2 3 4; do change $i; done
pack a,b,c source1 --label v1 --segment-size 1M

say "a mount that follows, under readers"
mount_volume a mnt -o follow=current:1
python3 "$LIB/killed.py" mnt source1 600 >load.log 2>&1 &
LOAD=$!
end_process_at_exit $LOAD
client reader
told reader "open mnt" "direct v1"
datasetfsctl member add a d >/dev/null || fail "add"
pack a source2 --label v2 --no-current
datasetfsctl list --json a | python3 -c '
import json, sys
segments = json.load(sys.stdin)["versions"][1]["segments"]
assert any(segment["member"] == 3 for segment in segments), segments' || fail "nothing of v2 lies on the new member"
members_are() {
    [ "$(members)" = "$1" ]
}
is_wider() {
    grep -q "'.*a' has $1 members now" daemon.log
}
wait_for 60 is_wider 4 || fail "the mount does not take the member in: $(cat daemon.log)"
told reader "compare source1" "61 right, 0 failed"
touch stop
wait $LOAD || fail "readers noticed: $(cat load.log)"
datasetfsctl current a v2 >/dev/null
wait_for 60 follows v2 || fail "the mount does not follow: $(cat daemon.log)"
compare source2 mnt
past
told reader refresh 1
told reader "compare source2" "61 right, 0 failed"
assert_eq "members in stats.json" "$(members)" 4

say "a server that is killed, then more members and a switch by hand"
kill_server mnt
compare source2 mnt
datasetfsctl member add a e f >/dev/null || fail "add two"
pack a source3 --label v3 --no-current
datasetfsctl switch mnt v3 >switch.log 2>&1 || fail "switch: $(cat switch.log daemon.log)"
compare source3 mnt
past
wait_for 10 is_wider 6 || fail "no line: $(cat daemon.log)"
assert_eq "members in stats.json" "$(members)" 6
kill_server mnt
compare source3 mnt
assert_contains "what status says" "$(datasetfsctl status mnt | head -n 1)" healthy
end_client reader
unmount mnt

say "a mount that no other server can take over"
mount_volume a mnt -o nosupervisor,version=v3
datasetfsctl member add a g >/dev/null || fail "add"
pack a source4 --label v4
assert_fails 1 "the volume has 7 members now, had 6" datasetfsctl switch mnt v4
compare source3 mnt
unmount mnt
mount_volume a mnt
compare source4 mnt
unmount mnt
