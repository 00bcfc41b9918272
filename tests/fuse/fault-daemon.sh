#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=300
# The daemon with its Nth device read or allocation failing: a read that fails once is repeated unseen, one that
# goes on failing is EIO for that file alone; a mount that cannot be completed says why, in one line, with status 32.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"
need_root
need_fuse

cc -shared -fPIC -O1 -D_GNU_SOURCE "$DATASETFS_SOURCE/tests/lib/fault.c" -o fault.so || fail "fault.c does not compile"
mkdir -p tree/directory mnt
for i in $(seq 0 9); do head -c $((5000 + i * 70000)) /dev/urandom >"tree/f$i"; done
pack v.vol tree

from=0
in=server
# injected KIND N TIMES COMMAND…: mounts with that call failing in the process $in, runs the command, unmounts; mount's
# status in rc
injected() {
    rc=0
    : >err # the last one's line is no answer
    FAULT_KIND=$1 FAULT_AT=$2 FAULT_TIMES=$3 FAULT_IN=$in FAULT_FROM=$from FAULT_COUNT=$PWD/count \
        FAULT_VOLUME=$PWD/v.vol LD_PRELOAD=$PWD/fault.so \
        datasetfs -f -o io=threads,workers=1,on_error=eio v.vol mnt >out 2>err &
    DAEMON=$!
    end_daemon_at_exit "$DAEMON" "$PWD/mnt"
    # Until it serves, with the read-ahead that it sets; a mount that fails late was there for a moment.
    until [ "$(serving err)" = 1 ]; do
        if [ -z "$(started $DAEMON)" ]; then
            wait $DAEMON || rc=$?
            return 0
        fi
        sleep 0.01
    done
    "${@:4}" || fail "$1 $2: ${*:4}"
    umount mnt || fail "$1 $2: the mount is gone: $(cat err)"
    wait $DAEMON || rc=$?
}

bad=
# each file equals its source or fails with EIO; the number of failures is in bad
check_files() {
    local i
    bad=0
    for i in $(seq 0 9); do
        if cat "mnt/f$i" >got 2>got.err; then
            cmp -s got "tree/f$i" || fail "WRONG BYTES in f$i"
        else
            grep -q 'Input/output error' got.err || fail "f$i: $(cat got.err)"
            bad=$((bad + 1))
        fi
    done
}

injected read 0 1 true
[ $rc = 0 ] || fail "counting run: status $rc: $(cat err)"
opening=$(cat count)
[ "$opening" -gt 0 ] || fail "no read was counted"

failed=0
for ((n = 1; n <= opening; n++)); do
    injected read "$n" 1 true
    case $rc in
    0) ;;
    32) failed=$((failed + 1))
        [ "$(grep -c '^[^ ]*Z datasetfs: .*injected\|^[^ ]*Z datasetfs: .*Input/output error' err)" = 1 ] ||
            fail "read $n: $(cat err)" ;;
    *) fail "read $n: status $rc: $(cat err)" ;;
    esac
done
[ $failed -gt 0 ] || fail "no failed read of superblock, catalogue or index was noticed"
say "$opening reads to mount, $failed of them refuse the mount when they fail"

# Superblocks aside: after a failed read the control thread looks for the version on the volume.
from=1048576
injected read 0 1 true
opening=$(cat count)
for n in $(seq $((opening + 1)) $((opening + 8))); do
    injected read "$n" 1 check_files
    [ "$rc" = 0 ] && [ "$bad" = 0 ] || fail "read $n failed once: status $rc, $bad files bad"
    # Five in a row: when a read-ahead fails the kernel asks a second time itself, and the control thread reads the
    # catalogue, before or after that.
    injected read "$n" 5 check_files
    [ "$rc" = 0 ] && [ "$bad" = 1 ] || fail "read $n failed for good: status $rc, $bad files bad: $(cat err)"
    grep -q "read of '/f[0-9]' failed: .*chunk=[0-9]* member=0 offset=[0-9]*" err || fail "read $n: no line: $(cat err)"
done
say "a read is repeated once, then EIO"
from=0

first=15 parts=25
[ "$DATASETFS_FULL" = 0 ] || first=40 parts=60
for in in server supervisor; do
    injected alloc 0 1 true
    total=$(cat count)
    failed=0
    for ((n = 1; n <= total; n += n < first ? 1 : 1 + total / parts)); do
        injected alloc "$n" 1 check_files
        case $rc in
        0) ;;
        2|32) # 2: while the command line was read, or what the supervisor keeps
            failed=$((failed + 1))
            [ $rc = 32 ] || grep -q 'memory' err || fail "alloc $n in the $in: status 2: $(cat err)"
            grep -qE '^([^ ]*Z )?datasetfs: .' err || fail "alloc $n in the $in: no reason" ;;
        *) fail "alloc $n in the $in: status $rc: $(cat err)" ;;
        esac
    done
    [ $failed -gt 0 ] || fail "no failed allocation was noticed in the $in"
    say "$total allocations in the $in, $failed injected failures refused the mount"
done

# The names of an old version that is in use cannot be gone through for want of memory:
# that is tried again, but not at once.
pack v.vol tree --label v2 --no-current
: >err
FAULT_KIND=alloc FAULT_AT=1 FAULT_TIMES=1000000000 FAULT_IN=server FAULT_WHILE=$PWD/short FAULT_COUNT=$PWD/count \
    FAULT_SEEN=$PWD/seen LD_PRELOAD=$PWD/fault.so by_clock datasetfs -f -o io=threads,workers=1 v.vol mnt 2>err &
DAEMON=$!
end_daemon_at_exit "$DAEMON" "$PWD/mnt"
wait_for 20 grep -q ' serves version ' err || fail "no mount: $(cat err)"
exec 5<mnt/f0
[ ! -e mnt/directory/absent ] # which is why numbers of nodes are not enough
datasetfsctl switch mnt v2 >/dev/null || fail "switch: $(cat err)"
touch short
wait_for 30 test -e seen || fail "nobody wanted memory"
for _ in {1..150}; do pass 20; done # in steps, so that who tries too often has the time for it
rm short
exec 5<&-
unmount mnt
tries=$(cat count)
[ "$tries" -lt 20 ] || fail "$tries allocations failed in 3 seconds"
say "$tries failed allocations while an old version could not be gone through"
