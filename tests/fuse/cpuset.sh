#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: ring timeout=300
# FUSE over io_uring in a control group with one CPU, readers outside of it on every CPU; the group's CPUs change while
# they read, and a daemon that was mounted outside is moved in.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root
need_command taskset python3

mapfile -t cpus < <(taskset -c -p $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r first last; do
    seq "$first" "${last:-$first}"
done)
[ ${#cpus[@]} -ge 2 ] || skip "needs two CPUs"
one=${cpus[0]} other=${cpus[-1]}
cpuset "$one"
home=${CPUSET%/*}/$(awk -F : -v v1="$([ -e "$CPUSET/cpuset.memory_migrate" ] && echo 1)" \
    '(v1 && $2 == "cpuset") || (!v1 && $1 == 0) { print $3 }' /proc/self/cgroup)
ring_switch Y || skip "FUSE over io_uring is missing or cannot be turned on"

seed=${SEED:-$RANDOM}
say "seed $seed"
tree random source --seed "$seed" --files 300
find source -type l -delete
chmod -R u+rwX source
pack volume source --compress auto

# Where the threads of the daemon may run.
allowed() {
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$SERVER/task/*/status | sort -u
}

load() {
    rm -f stopping
    python3 "$DATASETFS_SOURCE/tests/fuse/stress.py" source mnt "$seed" stopping >load.log 2>&1 &
    LOAD=$!
    end_process_at_exit $LOAD
}

answered() {
    [ "$(timeout 30 python3 "$LIB/json_value.py" requests_total mnt/.datasetfs/stats.json)" -ge "$1" ]
}

# The daemon answers some hundred requests more, of readers on every CPU.
progress() {
    local before cpu
    before=$(timeout 120 python3 "$LIB/json_value.py" requests_total mnt/.datasetfs/stats.json) ||
        fail "$1: the mount hangs"
    wait_for 30 answered $((before + 400)) || fail "$1: nothing goes on: $(cat load.log daemon.log)"
    kill -0 $LOAD 2>/dev/null || fail "$1: $(cat load.log)"
    for cpu in "$one" "$other"; do
        timeout 120 taskset -c "$cpu" stat mnt/nothing-"$cpu"-$RANDOM >/dev/null 2>&1 || [ $? = 1 ] ||
            fail "$1: CPU $cpu waits"
    done
}

# The load ends when its mount goes.
finish() {
    local rc=0
    touch stopping
    umount -l mnt
    wait_end $LOAD || fail "the load hangs"
    wait $LOAD || rc=$?
    [ $rc = 0 ] || fail "$(cat load.log)"
    wait_end $DAEMON || fail "the daemon hangs"
    wait $DAEMON || rc=$?
    [ $rc = 0 ] || fail "status $rc: $(cat daemon.log)"
    ! grep -v ': if its server dies, ' daemon.log | grep -E 'malformed|refuses|cannot|ends' || fail "$(cat daemon.log)"
}

echo $$ >"$CPUSET/cgroup.procs"
mount_volume volume mnt -o channel=ring
echo $$ >"$home/cgroup.procs"
assert_eq "workers for one CPU, and one for /dev/fuse" "$(stats mnt workers)" 2
assert_eq "where they run" "$(allowed)" "$one"
compare source mnt
load
progress "in the group"
echo "$other" >"$CPUSET/cpuset.cpus"
assert_eq "where they run in the group with another CPU" "$(allowed)" "$other"
progress "in the group with another CPU"
echo "$one,$other" >"$CPUSET/cpuset.cpus"
progress "in the group with more CPUs"
finish
say "mounted in the group"

mount_volume volume mnt -o channel=ring
assert_eq "workers" "$(stats mnt workers)" $((${#cpus[@]} + 1))
load
progress "outside of the group"
echo "$one" >"$CPUSET/cpuset.cpus"
for process in $DAEMON $SERVER; do echo "$process" >"$CPUSET/cgroup.procs"; done
assert_eq "where they run after they were moved" "$(allowed)" "$one"
progress "moved into the group"
finish
say "moved into the group"
