#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=tsan timeout=240
# Readers that run while the daemon is asked to stop, 100 times with --all: no hang, no crash, no wrong byte.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

tree random source --seed 6 --files 200
find source \( -type l -o -size +300k \) -delete
chmod -R u+rwX source
pack volume source --compress auto
cat >load.py <<'END'
import errno, os, sys, threading
source, mount, ready = sys.argv[1:4]
ALLOWED = {errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT, errno.EINTR, errno.ENODEV, errno.EIO}
pairs = [(os.path.join(w, f), os.path.join(w, f).replace(source, mount, 1)) for w, _, fs in os.walk(source) for f in fs]
want = {m: open(s, "rb").read() for s, m in pairs}
stop, wrong = threading.Event(), []

def reader(start):
    number = start
    while not stop.is_set():
        path = pairs[number % len(pairs)][1]
        number += 7
        try:
            if open(path, "rb").read() != want[path]:
                wrong.append(path)
        except OSError as error:
            if error.errno not in ALLOWED:
                wrong.append(f"{path}: {error}")
            stop.set()

threads = [threading.Thread(target=reader, args=(n,), daemon=True) for n in range(6)]
for thread in threads:
    thread.start()
open(ready, "w").close()
for thread in threads:
    thread.join(300)
if any(thread.is_alive() for thread in threads):
    print("fail: a reader hangs", flush=True)
    os._exit(1)
if wrong:
    sys.exit(f"fail: {wrong[:3]}")
END

rounds=$(length 24 100)
[ -z "${DATASETFS_SANITIZER:-}" ] || rounds=$(length 12 15)
ios=(uring threads)
busy=0
for ((round = 0; round < rounds; round++)); do
    rm -f ready
    mount_volume volume mnt -o io=${ios[round % 2]},workers=$((1 + round % 4))
    python3 load.py source mnt ready >load.log 2>&1 &
    load=$!
    wait_for 20 test -e ready || fail "the load does not start: $(cat load.log)"
    sleep 0.0$((RANDOM % 10))
    case $((round % 3)) in
    0) kill -TERM $DAEMON ;;
    1) kill -INT $DAEMON ;;
    2) umount -l mnt; kill -TERM $DAEMON 2>/dev/null || true ;;
    esac
    # Busy readers may keep a polite stop away: then it has said so, and a lazy unmount or another signal ends it.
    wait_for 20 sh -c "grep -qi busy daemon.log || ! kill -0 $DAEMON || grep -q '^State:.*Z' /proc/$DAEMON/status" ||
        fail "round $round: neither ended nor busy: $(tail -n 3 daemon.log)"
    if grep -qi busy daemon.log; then
        busy=$((busy + 1))
        if [ $((busy % 2)) = 0 ]; then
            umount -l mnt 2>/dev/null || true
        else
            kill -TERM $DAEMON 2>/dev/null || true
        fi
        kill -TERM $load 2>/dev/null || true
    fi
    wait_end $DAEMON || fail "round $round: the daemon hangs"
    rc=0
    wait $DAEMON || rc=$?
    [ $rc = 0 ] || fail "round $round: status $rc: $(tail -n 3 daemon.log)"
    rc=0
    wait $load || rc=$?
    case $rc in 0|143) ;; *) fail "round $round: $(cat load.log)" ;; esac
    ! is_mounted mnt || umount mnt
    : >daemon.log
done
say "$rounds stops, $busy of them while busy"
