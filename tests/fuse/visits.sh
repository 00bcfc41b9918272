#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan timeout=240
# A visitor of .datasetfs gets no older listing, cannot make the daemon try again and again to load a version that does
# not load, and cannot take all places in its tables.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"
need_fuse
need_root
need_command python3 cc

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/hold.c" -o hold.so || fail "hold.c does not compile"
chmod 755 . ..
mkdir source
for i in {1..6}; do
    echo "in $i" >source/file
    pack volume source --label v$i
done
versions=mnt/.datasetfs/versions

# The newest superblock cannot be read for a while: a listing of what was before is as wrong as a look-up there.
mount_volume volume mnt
slot=$(($(datasetfsctl list volume --json | json superblock_sequence /dev/stdin) % 8))
dd if=volume of=slot bs=64K skip=$slot count=1 status=none
dd if=/dev/zero of=volume bs=64K seek=$slot count=1 conv=notrunc status=none
rc=0
listed=$(LC_ALL=C ls $versions 2>&1) || rc=$?
assert_eq "status of a listing of an older state, which was '$listed'" $rc 2
assert_contains "a listing of an older state" "$listed" "Stale file handle"
grep -q "cannot list '.datasetfs/versions': superblock [0-9]* is the newest that can be read" daemon.log ||
    fail "no line about the listing: $(cat daemon.log)"
dd if=slot of=volume bs=64K seek=$slot conv=notrunc status=none
assert_eq "the listing when the superblock can be read again" "$(echo $versions/*)" "$(echo $versions/v{1..6})"
unmount mnt
say "no listing of an older state"

# A version that does not load is loaded once for all who ask within 10 seconds; a command tries it each time.
cp volume damaged
at=$(datasetfsctl list volume --json | json versions.0.index.0.offset /dev/stdin)
by_clock mount_volume damaged mnt
spoil damaged $((at + 9000))
: >daemon.log
loads=$(stats mnt loads)
python3 - $versions/v1 <<'END' || fail "a damaged version can be visited"
import os, sys
failed = 0
for _ in range(20):
    try:
        os.stat(sys.argv[1])
    except OSError:
        failed += 1
sys.exit(failed != 20)
END
# Perhaps twice on a machine where 20 look-ups take longer than it is remembered.
loaded=$(($(stats mnt loads) - loads))
[ $loaded -ge 1 ] && [ $loaded -le 2 ] || fail "20 look-ups loaded the version $loaded times"
grep -q "cannot open '.datasetfs/versions/v1': .*its SHA-256 is not the one in the catalogue" daemon.log ||
    fail "no line about the damage: $(cat daemon.log)"
loads=$(stats mnt loads)
for i in 1 2; do
    assert_fails 1 "its SHA-256 is not the one in the catalogue" datasetfsctl switch mnt v1
done
assert_eq "how often two commands loaded it" $(($(stats mnt loads) - loads)) 2
loads=$(stats mnt loads)
pass 10000
! stat $versions/v1 >/dev/null 2>&1 || fail "a damaged version can be visited later"
assert_eq "how often a visitor loaded it 10 seconds later" $(($(stats mnt loads) - loads)) 1
spoil damaged $((at + 9000))
datasetfsctl switch mnt v1 >/dev/null || fail "a command is refused what failed for a visitor"
unmount mnt
say "a version that does not load"

# Where nobody is to come.
mount_volume volume mnt -o noversions
assert_fails 1 "No such file" stat $versions
assert_fails 1 "No such file" stat $versions/v2
listed=$(LC_ALL=C ls mnt/.datasetfs | tr "\n" " ")
assert_eq "what is listed" "$listed" "client control damage metrics stats.json version versions.json "
datasetfsctl switch mnt v2 >/dev/null || fail "no switch with noversions"
unmount mnt
mount_volume volume mnt -o noversions,versions
stat $versions/v2 >/dev/null || fail "the last word does not count"
listed=$(LC_ALL=C ls mnt/.datasetfs | tr "\n" " ")
assert_eq "what is listed" "$listed" "client control damage metrics stats.json version versions versions.json "
unmount mnt
say "noversions"

# versions.json tells users who may not read the volume which versions it has, as datasetfsctl list does.
mount_volume volume mnt -o noversions,version=v2
python3 - mnt <<'END' || fail "versions.json: $(cat mnt/.datasetfs/versions.json)"
import json, subprocess, sys
told = json.load(open(sys.argv[1] + "/.datasetfs/versions.json"))
version = json.load(open(sys.argv[1] + "/.datasetfs/version"))
listed = json.loads(subprocess.check_output(["datasetfsctl", "list", "--json", "volume"]))["versions"]
assert [one["label"] for one in told] == ["v1", "v2", "v3", "v4", "v5", "v6"], told
assert [one["current"] for one in told] == [False] * 5 + [True], told
assert all(told[1][field] == version[field] for field in told[1] if field != "current"), (told[1], version)
assert version["inodes"] == 2, version
for one, other in zip(told, listed):
    assert all(one[field] == other[field] for field in ("label", "uuid", "digest", "sequence")), (one, other)
END
unmount mnt
say "versions.json"

# as_uid USER COMMAND…
as_uid() {
    setpriv --reuid "$1" --regid "$1" --clear-groups --bounding-set=-all --inh-caps=-all "${@:2}"
}

# visitor USER LABEL…: one after the other in the background, each with its result to LABEL.came; the last one's is $!
visitor() {
    local user=$1 label
    shift
    for label; do
        as_uid "$user" stat $versions/"$label" >"$label.out" 2>&1 &&
            echo came >"$label.came" || echo absent >"$label.came" &
        visitors+=($!)
    done
}

# held LABEL: the range of the volume with its index, for tests/lib/hold.c
held() {
    local at
    at=$(datasetfsctl list volume --json | json "versions.$((${1#v} - 1)).index.0.offset" /dev/stdin)
    echo "$at $((at + 4096))"
}

# waiting COUNT: so many requests are in work, beside the one that asks
waiting() {
    [ "$(stats mnt in_flight)" -gt "$1" ]
}

ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$PWD/hold.so HOLD_VOLUME=$PWD/volume \
    HOLD_WHILE=$PWD/hold mount_volume volume mnt -o channel=dev,allow_other,version=v1
if ! as_uid 65534 cat mnt/file >/dev/null 2>&1; then
    skip "another user cannot come here: $PWD"
fi
visitors=()
if [ "$(stats mnt io)" = uring ]; then
    # One user's visits leave room for another's.
    held v2 >hold
    visitor 65534 v2
    wait_for 20 test -e hold.held || fail "no visit reads the index"
    visitor 65534 x{1..70}
    # settled COUNT: of so many visits each waits or has ended
    settled() {
        [ $(($(find . -maxdepth 1 -name '*.came' -size +0 | wc -l) + $(stats mnt in_flight) - 1)) -ge "$1" ]
    }
    # one_busy: a visit was refused, so there is no room for another of that user
    one_busy() {
        grep -q "Device or resource busy" x*.out
    }
    wait_for 60 one_busy || fail "70 visits of one user can wait"
    wait_for 60 settled 71 || fail "not 71 visits came"
    visitor 65533 other
    wait_for 60 settled 72 || fail "another user's visit did not come"
    rm hold
    wait "${visitors[@]}" || true
    assert_contains "what another user's visit got" "$(cat other.out)" "No such file"
    assert_eq "the visit that was held" "$(cat v2.came)" came
    say "room for another user's visits"
fi

# A user who comes later waits for one visit of another user, not for all that are before his.
rm -f hold.held ./*.came
held v3 >hold
visitors=()
visitor 65534 v3
wait_for 20 test -e hold.held || fail "no visit reads the index"
visitor 65534 v4 v5
wait_for 20 waiting 3 || fail "not three visits are in work"
visitor 65533 v6
wait_for 20 waiting 4 || fail "not four visits are in work"
held v5 >hold.next
mv hold.next hold
wait_for 60 test -s v6.came || fail "a user waits for all visits of another one"
assert_eq "the visit" "$(cat v6.came)" came
[ ! -e v5.came ] || fail "the visit of v5 was not held"
rm hold
wait "${visitors[@]}"
say "users in turn"

# Snapshots of files that are held open.
cat >hold_open.py <<'END'
"""hold_open.py FILE COMMAND...: how many opens by each of five users succeed, and how the first that fails does; then
the command is run by root while they are open."""
import errno, os, subprocess, sys
held = []
for user in range(65530, 65535):
    count = 0
    os.seteuid(user)
    try:
        while True:
            held.append(os.open(sys.argv[1], os.O_RDONLY))
            count += 1
    except OSError as error:
        print(count, errno.errorcode[error.errno])
    finally:
        os.seteuid(0)
sys.stdout.flush()
sys.exit(subprocess.run(sys.argv[2:]).returncode)
END
as_uid 65534 python3 - mnt/.datasetfs/version <<'END' || fail "a file that does not change has a node for each open"
import os, sys
held = [os.open(sys.argv[1], os.O_RDONLY) for _ in range(300)]
sys.exit(len({os.fstat(fd).st_ino for fd in held}) != 1)
END
(ulimit -n 4096 && python3 hold_open.py mnt/.datasetfs/stats.json datasetfsctl switch mnt v2 >opened 2>&1) ||
    fail "root's switch while users hold files of .datasetfs open: $(cat opened)"
assert_eq "how that ended for five users" "$(awk 'NR <= 5 { printf "%s ", $2 }' opened)" \
    "EDQUOT EDQUOT EDQUOT ENFILE ENFILE "
# A few less: for a moment an open has two, and the kernel gives them back in its own time.
awk 'NR <= 5 { sum += $1 } NR <= 3 && ($1 < 240 || $1 > 256) { bad = 1 }
    END { exit bad || sum < 900 || sum > 960 }' opened ||
    fail "what five users could open: $(cat opened)"
grep -q "user 65530 holds 256 files of '.datasetfs' open" daemon.log || fail "no line about the user: $(cat daemon.log)"
wait_for 20 as_uid 65530 cat mnt/.datasetfs/stats.json || fail "a user who let go of his files cannot open one"
unmount mnt
say "files of .datasetfs that are held open"
