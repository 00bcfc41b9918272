#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: alone in=asan timeout=300
# FUSE over io_uring under load: readers that compare, listings and dropped caches while CPUs come and go, on mounts
# made with a CPU offline or with few CPUs allowed; then the mount goes away beneath the readers, in every way there is.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root
need_command taskset python3
ring_switch Y || skip "FUSE over io_uring is missing or cannot be turned on"

seed=${SEED:-$RANDOM}
say "seed $seed"
RANDOM=$seed
tree random source --seed "$seed" --files 300
find source -type l -delete
chmod -R u+rwX source
pack volume source --compress auto
mkdir -p mnt

# The last CPU that can be taken away; the first one stays.
cpu=
for online in /sys/devices/system/cpu/cpu[1-9]*/online; do
    [ "$(cat "$online" 2>/dev/null)" != 1 ] || ! { echo 1 >"$online"; } 2>/dev/null ||
        { cpu=${online%/online}; cpu=${cpu##*cpu}; }
done
[ -n "$cpu" ] || say "no CPU can be taken offline here: those parts are left out"

cpu_online() {
    echo "$1" >"/sys/devices/system/cpu/cpu$cpu/online"
}
[ -z "$cpu" ] || at_exit cpu_online 1

load() {
    rm -f stopping
    python3 "$DATASETFS_SOURCE/tests/fuse/stress.py" source mnt $((seed + round)) stopping >load.log 2>&1 &
    LOAD=$!
    end_process_at_exit $LOAD
    progress
}

answered() {
    [ "$(timeout 30 python3 "$LIB/json_value.py" requests_total mnt/.datasetfs/stats.json)" -ge "$1" ]
}

# The daemon answers some hundred requests more and the readers are content.
progress() {
    local before
    before=$(timeout 30 python3 "$LIB/json_value.py" requests_total mnt/.datasetfs/stats.json) ||
        fail "round $round: the mount hangs"
    wait_for 40 answered $((before + 400)) || fail "round $round: nothing goes on: $(cat load.log daemon.log)"
    kill -0 $LOAD 2>/dev/null || fail "round $round: $(cat load.log)"
}

# Where the processes of the load are in the kernel.
stuck() {
    local process
    for process in $LOAD $(ps -o pid= --ppid $LOAD); do
        echo "process $process: $(cat /proc/"$process"/stat 2>&1)"
        cat /proc/"$process"/stack || true
    done
}

# end HOW: the mount goes away beneath the load
end() {
    local rc=0 expected=0
    touch stopping
    case $1 in
    signals) kill -TERM $DAEMON; sleep 0.1; kill -TERM $DAEMON 2>/dev/null || true ;;
    lazily) umount -l mnt ;;
    abort) abort_connection mnt || fail "cannot abort the connection"; expected=1 ;;
    esac
    wait_end $DAEMON || fail "round $round: the daemon hangs ($1): $(cat daemon.log)"
    wait $DAEMON || rc=$?
    [ $rc = $expected ] || fail "round $round: status $rc ($1): $(tail -n 3 daemon.log)"
    wait_end $LOAD || { stuck; fail "round $round: the load hangs ($1)"; }
    rc=0
    wait $LOAD || rc=$?
    [ $rc = 0 ] || fail "round $round ($1): $(cat load.log)"
    ! is_mounted mnt || fail "round $round: still mounted ($1)"
    ! grep -v 'if its server dies' daemon.log | grep -E 'malformed|refuses|cannot answer|cannot go on|ends' ||
        fail "round $round ($1): $(cat daemon.log)"
    : >daemon.log
}

ends=(signals lazily abort)
round=0
for how in all one-cpu one-worker born-offline; do
    round=$((round + 1))
    case $how in
    all) mount_volume volume mnt -o channel=ring ;;
    one-worker) mount_volume volume mnt -o channel=ring,workers=1 ;;
    one-cpu)
        before=$(taskset -cp $$ | sed 's/.*: //')
        taskset -cp "${before%%[-,]*}" $$ >/dev/null
        mount_volume volume mnt -o channel=ring
        taskset -cp "$before" $$ >/dev/null
        assert_eq "workers for one CPU, and one for /dev/fuse" "$(stats mnt workers)" 2 ;;
    born-offline)
        [ -n "$cpu" ] || continue
        cpu_online 0
        mount_volume volume mnt -o channel=ring
        cpu_online 1
        # From the queue of a CPU that was not there, served by another one's worker.
        taskset -c "$cpu" timeout 200 python3 "$LIB/compare.py" source mnt || fail "readers on a CPU that came later" ;;
    esac
    assert_eq "channel" "$(stats mnt channel)" ring
    load
    for ((turn = 0; turn < $(length 1 2); turn++)); do
        echo 3 >/proc/sys/vm/drop_caches
        progress
        if [ -n "$cpu" ]; then
            cpu_online 0
            progress
            cpu_online 1
            progress
        fi
    done
    [ -z "$cpu" ] || taskset -c "$cpu" timeout 200 python3 "$LIB/compare.py" source mnt ||
        fail "readers on a CPU that came back"
    how_ends=${ends[(round + seed) % 3]}
    end $how_ends
    say "$how, ended by $how_ends"
done

# Going down is where races are: many mounts, each for a moment.
rounds=$(length 3 9)
for ((; round < 4 + rounds; round++)); do
    mount_volume volume mnt -o channel=ring,workers=$((1 + round % 2))
    load
    sleep 0.0$((RANDOM % 10))
    end ${ends[round % 3]}
done
say "$rounds mounts that went away under load"
