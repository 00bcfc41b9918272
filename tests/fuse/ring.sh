#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon alone timeout=240
# FUSE over io_uring: the same trees, the same bytes; one worker that adopts the queues of all CPUs; offline switch;
# stops under load without a hang.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root

tree random source --seed 11 --files 400
find source -type l -delete
chmod -R u+rwX source
pack volume source --compress auto
mkdir -p mnt

ring_switch N || skip "FUSE over io_uring is missing or cannot be switched"
assert_fails 32 "FUSE over io_uring is off" datasetfs -o channel=ring volume mnt
mount_volume volume mnt
assert_eq "the channel while the switch is off" "$(stats mnt channel)" dev
! grep -q "turns it on" daemon.log || fail "a word about the switch, for which nobody asked: $(cat daemon.log)"
unmount mnt

# Turned off while the mount comes up: it was seen on, and the version is open.
# No more workers than that has readers for.
echo Y >seen
cat >inside.sh <<'END'
. "$LIB/common.sh"
mount --bind seen "$RING_SWITCH"
mount_volume volume mnt -o workers=64,channel=auto,nosupervisor
assert_eq "the channel" "$(stats mnt channel)" dev
assert_eq "workers" "$(stats mnt workers)" $(($(nproc) + 1))
grep -qF "workers=64: $(($(nproc) + 1)) serve, FUSE over io_uring was turned off while the mount came up" daemon.log ||
    fail "no word about workers=64: $(cat daemon.log)"
compare source mnt
python3 "$DATASETFS_SOURCE/tests/fuse/concurrent.py" source mnt 64 2000 || fail "64 readers"
unmount mnt
END
"$LIB/mount-namespace" bash inside.sh || fail "the switch was turned off while the mount came up"

# The bound on memory for buffers is printed, and holds: beside it there are the index, the cache and the program.
check_budget() {
    local budget printed held
    budget=$(stats mnt buffer_budget)
    printed=$(sed -n 's/.*buffers up to \([0-9.]*\) \([KMGT]i\)B.*/\1\2/p' daemon.log | numfmt --from=iec-i)
    [ $((100 * (printed > budget ? printed - budget : budget - printed))) -le "$budget" ] ||
        fail "$1: a budget of $budget is printed as $printed: $(cat daemon.log)"
    held=$(($(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$SERVER/status) * 1024))
    [ -n "${DATASETFS_SANITIZER:-}" ] || [ $held -le $((budget + (64 << 20))) ] ||
        fail "$1: the daemon holds $held bytes of a budget of $budget"
    say "$1: $held bytes held, budget $budget"
}

ring_switch Y
for options in channel=ring channel=auto,nosupervisor channel=ring,workers=1; do
    : >daemon.log
    mount_volume volume mnt -o $options
    assert_eq "the channel of $options" "$(stats mnt channel)" ring
    compare source mnt
    python3 "$(dirname "$0")/concurrent.py" source mnt 256 "$(length 1500 5000)" || fail "256 readers over $options"
    check_budget $options
    unmount mnt
    ! grep -qiE 'error|failed|workers=' daemon.log || fail "$options: $(cat daemon.log)"
    say "$options"
done

# It has one worker for each CPU and no use for more, which is said.
: >daemon.log
mount_volume volume mnt -o channel=ring,workers=1000
assert_eq "workers" "$(stats mnt workers)" $(($(nproc) + 1))
line="workers=1000: $(nproc) serve, FUSE over io_uring has at most one for each CPU, channel=dev takes more"
grep -qF "$line" daemon.log ||
    fail "no word about workers=1000: $(cat daemon.log)"
unmount mnt

# Requests over the ring end with the server: a mount that outlives its servers uses the ring only when told to.
for options in channel=dev channel=auto; do
    mount_volume volume mnt -o $options
    assert_eq "the channel of $options" "$(stats mnt channel)" dev
    unmount mnt
done

rounds=$(length 6 30)
[ -z "${DATASETFS_SANITIZER:-}" ] || rounds=$(length 6 8)
mapfile -t files < <(cd source && find . -type f -size +0 -printf '%P\n' | grep -v '[^ -~]' | head -n 60)
for ((round = 0; round < rounds; round++)); do
    mount_volume volume mnt -o channel=ring,workers=$((1 + round % 2))
    for ((reader = 0; reader < 4; reader++)); do
        (while cat "${files[@]/#/mnt/}" >/dev/null 2>&1; do :; done) &
    done
    sleep 0.0$((RANDOM % 10))
    case $((round % 2)) in
    0) kill -TERM $DAEMON; sleep 0.1; kill -TERM $DAEMON 2>/dev/null || true ;;
    1) umount -l mnt ;;
    esac
    wait_end $DAEMON || fail "round $round: the daemon hangs"
    rc=0
    wait $DAEMON || rc=$?
    [ $rc = 0 ] || fail "round $round: status $rc: $(tail -n 3 daemon.log)"
    wait
done
say "$rounds stops under load"
