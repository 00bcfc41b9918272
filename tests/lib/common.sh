# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Helpers of the shell tests. A test sources this file first; it runs in a directory of its own ($PWD), with the
# programs of its build in PATH, and its mounts, daemons and loop devices are undone when it ends, however it ends.
set -euo pipefail

if [ -z "${DATASETFS_TEST_DIR:-}" ]; then
    echo "run this test by tests/run: tests/run ${0#*/tests/}" >&2
    exit 2
fi

LIB=$DATASETFS_SOURCE/tests/lib
export LIB
_cleanups=()
_processors=$(nproc)

# at_exit COMMAND…: runs last in, first out
at_exit() {
    _cleanups+=("$(printf '%q ' "$@")")
}

_finish() {
    local rc=$? i
    trap - EXIT
    set +e
    for ((i = ${#_cleanups[@]} - 1; i >= 0; i--)); do
        eval "${_cleanups[i]}" >/dev/null 2>&1
    done
    if [ $rc != 0 ] && [ $rc != 77 ]; then
        echo "--- mounts and processes at the failure were ended; logs of daemons follow"
    fi
    exit $rc
}
trap _finish EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

skip() {
    echo "skip: $*"
    exit 77
}

fail() {
    echo "fail: line ${BASH_LINENO[0]}: $*"
    exit 1
}

say() {
    echo "- $*"
}

# is_root: and nobody took the capabilities away by which root changes owners, files of others (CHOWN, DAC_OVERRIDE,
# FOWNER) and its own user (SETGID, SETUID). A container without any has a root as well.
is_root() {
    local capabilities
    capabilities=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
    [ "$(id -u)" = 0 ] && [ $((0x$capabilities & 0xcb)) = $((0xcb)) ]
}

# enough_for_smoke: what follows is no promise of README.md, and left out by tests/run --smoke
enough_for_smoke() {
    [ "$DATASETFS_BUILD_NAME" != release ] || exit 0
}

need_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    is_root || skip "root has no right here to change owners and users"
}

# can_mount: whether we have CAP_SYS_ADMIN, and nothing else stands against a mount (AppArmor does in some containers).
# A namespace to try it in would hold a copy of every mount of the tests beside us.
can_mount() {
    local capabilities
    capabilities=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
    [ $((0x$capabilities >> 21 & 1)) = 1 ] || return 1
    mkdir -p can-mount
    mount --bind can-mount can-mount 2>/dev/null || return 1
    umount --lazy can-mount
}

need_mount() {
    need_root
    can_mount || skip "no right to mount here"
}

# own_namespace: the test begins again in a mount namespace that holds no mount of the tests beside it; not where there
# is no right to mount
own_namespace() {
    [ -z "${DATASETFS_OWN_NAMESPACE:-}" ] && can_mount || return 0
    DATASETFS_OWN_NAMESPACE=1 exec "$LIB/mount-namespace" "$0"
}

# own_machine: the test begins again as process 1 of a machine whose /run is empty, and which ends with the test. Nobody
# else sees what is attached there (tools/site/attach/), and its daemons leave no control group of ours.
own_machine() {
    [ -z "${DATASETFS_OWN_MACHINE:-}" ] || return 0
    unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip "no right to make a PID namespace here"
    DATASETFS_OWN_MACHINE=1 exec "$LIB/mount-namespace" unshare --mount --pid --fork --kill-child --mount-proc \
        bash -c 'mount -t tmpfs run /run && exec "$0"' "$0"
}

# own_names: after own_machine, a copy of /etc in which the test may name data sets
own_names() {
    cp -a /etc etc
    mkdir -p etc/datasetfs
    mount --bind etc /etc
}

# need_fuse: a container may show the device and refuse to open it, or to mount.
need_fuse() {
    [ -c /dev/fuse ] || skip "no /dev/fuse on this machine"
    (exec 3<>/dev/fuse) 2>/dev/null || skip "/dev/fuse cannot be opened"
    if [ "$(id -u)" = 0 ]; then
        can_mount || skip "no right to mount here"
    else
        [ -u "$(command -v fusermount3)" ] || skip "needs root or a setuid fusermount3"
        grep -q '^NoNewPrivs:[[:space:]]*0' /proc/self/status || skip "fusermount3 gets no rights here (no_new_privs)"
        id -un >/dev/null 2>&1 || skip "user $(id -u) has no name, which fusermount3 asks for"
        [ -e /etc/mtab ] || skip "no /etc/mtab, which fusermount3 reads"
    fi
}

# can_loop: a container may have the control device alone
can_loop() {
    [ "$(id -u)" = 0 ] && [ -b "$(losetup -f 2>/dev/null)" ]
}

need_loop() {
    need_root
    can_loop || skip "no free loop device"
}

need_command() {
    local name
    for name in "$@"; do
        command -v "$name" >/dev/null || skip "no program '$name'"
    done
}

# need_python PACKAGES MODULE…: of the python3 that is first in PATH; the packages of Debian are for its own
need_python() {
    local module
    for module in "${@:2}"; do
        python3 -c "import $module" 2>/dev/null ||
            skip "$(command -v python3 || echo python3) has no $module (Debian: $1, for /usr/bin/python3)"
    done
}

# need_pty: a terminal for script(1), which a root without /dev/pts has not
need_pty() {
    need_command script
    script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip "no pseudo-terminal"
}

need_filesystem() {
    grep -qw "$1" /proc/filesystems || modprobe "$1" 2>/dev/null || skip "the kernel has no $1"
}

# Room on the disk below the test's directory, in MiB.
need_space() {
    local free
    free=$(df -Pm . | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$1" ] || skip "needs $1 MiB of disk, $free MiB are free"
}

# length SHORT FULL: of a loop; FULL with tests/run --all. LENGTH=N in the environment is stronger than both.
length() {
    local length=$1
    [ "$DATASETFS_FULL" = 0 ] || length=$2
    echo "${LENGTH:-$length}"
}

# length_in_gcc SHORT FULL: of a loop that takes ten minutes or more in full, so only one build has it in full
length_in_gcc() {
    if [ "$DATASETFS_BUILD_NAME" = gcc ]; then length "$1" "$2"; else length "$1" "$1"; fi
}

# as_user COMMAND…: as nobody, without a capability
as_user() {
    setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all "$@"
}

assert_eq() {
    [ "$2" = "$3" ] || fail "$1: found '$2', expected '$3'"
}

# assert_contains WHAT TEXT PART
assert_contains() {
    [[ $2 == *"$3"* ]] || fail "$1: no '$3' in: $2"
}

# exits STATUS COMMAND…: the command ends with that. If not, a log says so, as our output may be the command's.
exits() {
    local rc=0
    "${@:2}" || rc=$?
    [ $rc = "$1" ] || fail "exit status $rc instead of $1: ${*:2}" >"$DATASETFS_TEST_DIR/exits.log"
}

# assert_fails STATUS MESSAGE COMMAND…: that exit status, and one line on stderr that contains MESSAGE
assert_fails() {
    local status=$1 message=$2 rc=0 lines
    shift 2
    "$@" >"$DATASETFS_TEST_DIR/fails.out" 2>"$DATASETFS_TEST_DIR/fails.err" </dev/null || rc=$?
    if [ $rc != "$status" ]; then
        cat "$DATASETFS_TEST_DIR/fails.err"
        fail "exit status $rc instead of $status: $*"
    fi
    grep -qF -- "$message" "$DATASETFS_TEST_DIR/fails.err" || {
        fail "no '$message' from: $*; it said: $(cat "$DATASETFS_TEST_DIR/fails.err")"
    }
    lines=$(wc -l <"$DATASETFS_TEST_DIR/fails.err")
    [ "$lines" = 1 ] || fail "$lines lines instead of one on stderr from: $*: $(cat "$DATASETFS_TEST_DIR/fails.err")"
}

# wait_for SECONDS COMMAND…: until the command succeeds. On a machine that has no time for us, it has none for what we
# wait for: it is asked as often as on an idle one, not for as long, and more often where more runs than tests, as in
# patience.py.
wait_for() {
    local left load
    { read -r load _ </proc/loadavg; } 2>/dev/null || load=0
    left=$(($1 * 20 * (1 + ${load%.*} / (4 * _processors))))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $((left--)) -gt 0 ] || return 1
        sleep 0.05
    done
}

# pack VOLUME SOURCE [OPTIONS…]: quiet unless it fails
pack() {
    if ! mkdatasetfs --progress none "${@:3}" "$1" "$2" >pack.log 2>&1; then
        cat pack.log
        fail "mkdatasetfs ${*:3} $1 $2 failed"
    fi
}

# is_mounted MOUNTPOINT
is_mounted() {
    mountpoint -q "$1"
}

# mount_volume VOLUME MOUNTPOINT [OPTIONS…]: a daemon in the foreground whose lines go to daemon.log; its process
# number is in DAEMON, that of the process that serves in SERVER. It has said that it serves: before that it answers as
# well, but with the kernel's read-ahead, and the line is still to come. The options of the variant (tests/run
# --variant) are added unless channel or io is named.
mount_volume() {
    local variant=() before
    if [ -n "${DATASETFS_MOUNT_OPTIONS:-}" ] && [[ " ${*:3}" != *[\ ,]channel=* && " ${*:3}" != *[\ ,]io=* ]]; then
        variant=(-o "$DATASETFS_MOUNT_OPTIONS")
    fi
    mkdir -p "$2"
    touch daemon.log
    before=$(serving daemon.log)
    datasetfs -f "${variant[@]}" "${@:3}" "$1" "$2" >>daemon.log 2>&1 &
    DAEMON=$!
    end_daemon_at_exit "$DAEMON" "$2"
    wait_for 60 serves_or_ended "$before" || fail "no mount after 60 s: datasetfs -f ${*:3} $1 $2"
    if [ "$(serving daemon.log)" -le "$before" ]; then
        cat daemon.log
        fail "the daemon ended: datasetfs -f ${*:3} $1 $2"
    fi
    stat "$2/." >/dev/null || fail "the mount does not serve: datasetfs -f ${*:3} $1 $2"
    SERVER=$(server_of "$DAEMON")
}

# server_of PROCESS: the process that serves for a daemon, itself if it has no supervisor. A dead one may still be
# there, and its number may be the higher one.
server_of() {
    pgrep -n -P "$1" -x datasetfs || echo "$1"
}

# announce_file MOUNTPOINT FILE: has the daemon read that file ahead
announce_file() {
    python3 "$LIB/announce.py" "$1" "$2" || fail "cannot announce $2"
}

# is_storing: whether a thread of the server sleeps in a store into the page cache
is_storing() {
    cat "/proc/$SERVER"/task/*/wchan 2>/dev/null | grep -q folio
}

# kill_server MOUNTPOINT: as the kernel does when memory runs out; another one has answered on return
kill_server() {
    kill -KILL "$(server_of "$DAEMON")"
    cat "$1/.datasetfs/version" >/dev/null || fail "no server takes over: $(cat daemon.log)"
    # shellcheck disable=SC2034 # tests use it
    SERVER=$(server_of "$DAEMON")
}

# kill_daemon [MOUNTPOINT]: supervisor and server of mount_volume, so that the mount dies; it is dead on return. The
# server knows by then that nothing could end a store, and stores no more.
kill_daemon() {
    local server before
    server=$(server_of "$DAEMON")
    before=$(bereft)
    kill -KILL "$DAEMON"
    [ "$server" = "$DAEMON" ] || wait_for 10 knows_or_ended "$server" "$before" || fail "the server is not told"
    kill -KILL "$server" 2>/dev/null || true
    wait_end "$server" && { [ -z "${1:-}" ] || wait_for 20 is_disconnected "$1"; }
}

# is_disconnected MOUNTPOINT: a request that is under way meanwhile fails with another error
is_disconnected() {
    [[ $(stat -f "$1" 2>&1) == *"not connected"* ]]
}

# bereft: how many servers have said that their supervisor has ended
bereft() {
    grep -c ": the supervisor of '.*' has ended" daemon.log || true
}

# knows_or_ended SERVER BEFORE: of kill_daemon
knows_or_ended() {
    [ "$(bereft)" -gt "$2" ] || [ -z "$(started "$1")" ]
}

# serving LOG: how many daemons have said there that they serve
serving() {
    grep -c " serves version '.*, buffers up to " "$1" || true
}

# serves_or_ended BEFORE: the daemon of mount_volume does not begin any more
serves_or_ended() {
    [ "$(serving daemon.log)" -gt "$1" ] || [ -z "$(started "$DAEMON")" ]
}

# started PROCESS: its start in ticks, nothing when it has ended. With it a process is known: the numbers come round
# within minutes here (pid_max 32768), and what has that number at the end of a test is somebody else.
started() {
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    case $1 in Z|X) ;; *) echo "${20}" ;; esac
}

# end_process_at_exit PROCESS
end_process_at_exit() {
    at_exit end_process "$1" "$(started "$1")"
}

# end_process PROCESS START: for clean-up only
end_process() {
    [ -z "$2" ] || [ "$(started "$1")" != "$2" ] || kill "$1"
}

# end_daemon_at_exit PROCESS MOUNTPOINT
end_daemon_at_exit() {
    at_exit end_daemon "$1" "$(started "$1")" "$2"
}

# end_daemon PROCESS START MOUNTPOINT: for clean-up only
end_daemon() {
    if is_mounted "$3"; then
        command umount "$3" || fusermount3 -u "$3" || umount -l "$3" || fusermount3 -u -z "$3"
    fi
    [ -n "$2" ] || return 0
    wait_for 5 has_ended "$1" "$2" || { pkill -KILL -P "$1" -x datasetfs || true; kill -KILL "$1"; }
}

# unmount MOUNTPOINT: and the daemon of mount_volume ends with status 0
unmount() {
    local rc=0
    umount "$1" || fail "umount $1"
    wait_end "$DAEMON" || fail "the daemon runs on after umount $1: $(kept_by "$1")"
    wait "$DAEMON" || rc=$?
    [ $rc = 0 ] || { cat daemon.log; fail "the daemon ended with status $rc"; }
}

# kept_by MOUNTPOINT: who may keep the daemon, by a copy of the mount in a namespace, and where its threads are
kept_by() {
    local server
    server=$(server_of "$DAEMON")
    echo "mounted for $(grep -lsF " $PWD/$1 " /proc/[0-9]*/mountinfo | cut -d / -f 3 | paste -sd ' ')," \
        "threads wait in $(for thread in /proc/"$server"/task/*; do cat "$thread/wchan" && echo; done | paste -sd ' ')"
}

# abort_connection MOUNTPOINT: as an admin ends a filesystem that hangs; false where that cannot be done
abort_connection() {
    local connections=/sys/fs/fuse/connections
    is_mounted $connections || mount -t fusectl fusectl $connections 2>/dev/null || return 1
    echo 1 >"$connections/$(mountpoint -d "$1" | cut -d : -f 2)/abort"
}

# wait_end PROCESS: until it has ended (a child of ours may stay to be waited for)
wait_end() {
    local start
    start=$(started "$1")
    [ -z "$start" ] || wait_for 60 has_ended "$1" "$start"
}

# has_ended PROCESS START
has_ended() {
    [ "$(started "$1")" != "$2" ]
}

# umount …: umount(8). A program that looks at every mount (datasetfsctl top) or into /proc (lsof) has one of ours in
# use for a moment, whoever runs it; 'command umount' is for those tests that want to see it busy.
umount() {
    local left=200 said rc
    while :; do
        rc=0
        { said=$(command umount "$@" 2>&1 >&3); } 3>&1 || rc=$?
        [[ $said == *": target is busy"* ]] && [ $((left--)) -gt 0 ] || break
        sleep 0.05
    done
    [ -z "$said" ] || printf '%s\n' "$said" >&2
    return $rc
}

# is_stopped PROCESS: by SIGSTOP
is_stopped() {
    grep -q '^State:[[:space:]]*T' "/proc/$1/status"
}

# has_open PROGRAM PROCESS FILE: that process runs the program by now, and has the file open
has_open() {
    local fd
    [ "$(cat "/proc/$2/comm" 2>/dev/null)" = "$1" ] || return 1
    for fd in "/proc/$2/fd/"*; do
        [ "$(readlink "$fd")" != "$(readlink -f "$3")" ] || return 0
    done
    return 1
}

# daemon_of MOUNTPOINT: process numbers of daemons of this test that serve it
daemon_of() {
    local pid comm
    for pid in /proc/[0-9]*; do
        pid=${pid#/proc/}
        { read -r comm <"/proc/$pid/comm"; } 2>/dev/null && [ "$comm" = datasetfs ] || continue
        grep -zqxF "DATASETFS_TEST_DIR=$DATASETFS_TEST_DIR" "/proc/$pid/environ" 2>/dev/null || continue
        grep -zqxF -- "$1" "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
    done
    return 0
}

# has_no_daemon MOUNTPOINT…: those that served them have ended
has_no_daemon() {
    local mountpoint
    for mountpoint; do
        [ -z "$(daemon_of "$mountpoint")" ] || return 1
    done
}

# compare SOURCE MOUNT [OPTIONS…]: whole trees, by tests/lib/compare.py
compare() {
    python3 "$LIB/compare.py" "${@:3}" "$1" "$2" || fail "trees differ: $1 $2"
}

# tree KIND DIRECTORY [OPTIONS…]: made by tests/lib/tree.py
tree() {
    python3 "$LIB/tree.py" "$@" || fail "tree.py $*"
}

# fixed_tree KIND DIRECTORY: made by tests/lib/fixed_tree.py; false where this file system cannot hold it
fixed_tree() {
    local rc=0
    python3 "$LIB/fixed_tree.py" "$@" || rc=$?
    [ $rc = 0 ] || [ $rc = 77 ] || fail "fixed_tree.py $*"
    return $rc
}

# c_program NAME: compiles tests/NAME.c to ./basename
c_program() {
    need_command cc
    cc -D_GNU_SOURCE -O1 -g -Wall -Wextra "${@:2}" -o "${1##*/}" "$DATASETFS_SOURCE/tests/$1.c" -pthread ||
        fail "cannot compile tests/$1.c"
}

# loop_device FILE [LOSETUP OPTIONS…]: its name in LOOP
loop_device() {
    LOOP=$(losetup --find --show "${@:2}" "$1") || skip "cannot attach a loop device"
    at_exit loop_end "$LOOP" "$(loop_file "$LOOP")"
}

# loop_file DEVICE: the file behind it, "" when there is none
loop_file() {
    local file=

    read -r file 2>/dev/null <"/sys/block/${1##*/}/loop/backing_file" || true
    echo "${file% (deleted)}"
}

loop_is_over() {
    [ "$(loop_file "$1")" != "$2" ]
}

# loop_end DEVICE [FILE]: if that is the file behind it, as another test may have the device by now. While somebody has
# it open, such as udev, it only begins to end.
loop_end() {
    local file=${2-$(loop_file "$1")}

    loop_is_over "$1" "$file" && return 0
    losetup -d "$1"
    wait_for 10 loop_is_over "$1" "$file"
}

# small_files DIRECTORY SEED COUNT LARGE: so many files named by numbers, with sizes as those of images, and large0 and
# so on of 3 MB each
small_files() {
    python3 "$LIB/small_files.py" "$@" || fail "small_files.py $*"
}

# slow_device FILE DEVICE MICROSECONDS [CONTROL]: DEVICE is a file with the bytes of FILE, and each read of it takes so
# much longer, however many there are at a time (tests/lib/slowfs.c). What it did is in slowfs.log when it has ended,
# with a file that controls it, which gets MICROSECONDS first, in CONTROL.log.
slow_device() {
    local log=${4:-slowfs}.log
    : >"$2"
    [ -z "${4:-}" ] || echo "$3" >"$4"
    "$DATASETFS_BUILD/tests/slowfs" "$@" >"$log" 2>&1 &
    end_daemon_at_exit $! "$2"
    wait_for 10 grep -q '^ready$' "$log" || { cat "$log"; fail "no slow device: slowfs $*"; }
}

# slow_control CONTROL WORD: the slow device does so when this returns
slow_control() {
    echo "$2" >"$1"
    wait_for 20 obeyed_is "$@" || fail "the slow device of '$1' does not obey: $2"
}
obeyed_is() {
    [ "$(cat "$1.obeyed" 2>/dev/null)" = "$2" ]
}

# add_partition DEVICE START LENGTH: its first one, in sectors; false where there are none, or /dev does not show them
add_partition() {
    addpart "$1" 1 "$2" "$3" || return 1
    at_exit delpart "$1" 1
    [ -b "${1}p1" ]
}

# need_throttle: control groups that can hold back a device's reads (blkio of version 1)
need_throttle() {
    need_command lsblk
    [ -w /sys/fs/cgroup/blkio/cgroup.procs ] || skip "no control group of version 1 for block devices"
}

# throttle PROCESS: its reads of $LOOP can be held back from now on. At the end what still runs in the group goes back
# to where it came from: a group with a process cannot be removed.
throttle() {
    local group=/sys/fs/cgroup/blkio/datasetfs-test-$$
    if [ ! -d "$group" ]; then
        mkdir "$group"
        at_exit throttle_end "$group" "/sys/fs/cgroup/blkio$(awk -F : '$2 == "blkio" { print $3 }' /proc/self/cgroup)"
    fi
    echo "$1" >"$group/cgroup.procs"
}

# throttle_end GROUP PARENT
throttle_end() {
    local pid
    throttle_reads 0
    throttle_reads 0 iops
    while read -r pid; do echo "$pid" >"$2/cgroup.procs"; done <"$1/cgroup.procs"
    wait_for 10 rmdir "$1"
}

# throttle_reads BYTES, throttle_reads READS iops: so many a second from $LOOP; 0: as many as there are
throttle_reads() {
    echo "$(lsblk -ndo MAJ:MIN "$LOOP" | tr -d ' ') $1" \
        >"/sys/fs/cgroup/blkio/datasetfs-test-$$/blkio.throttle.read_${2:-bps}_device"
}

# cpuset CPUS: an empty control group that may run on these CPUs, and its folder in CPUSET; skips where there is none
cpuset() {
    local top=/sys/fs/cgroup
    if [ -w $top/cpuset/cgroup.procs ]; then
        top=$top/cpuset
    elif ! grep -qw cpuset $top/cgroup.controllers || ! echo +cpuset >$top/cgroup.subtree_control; then
        skip "no control groups for CPUs"
    fi 2>/dev/null
    CPUSET=$top/datasetfs-test-$$
    mkdir "$CPUSET" 2>/dev/null || skip "cannot make a control group in $top"
    at_exit rmdir "$CPUSET"
    # Of version 1: without it nobody can join.
    [ "$top" = /sys/fs/cgroup ] || cat $top/cpuset.mems >"$CPUSET/cpuset.mems"
    echo "$1" >"$CPUSET/cpuset.cpus"
}

# expire DIRECTORY NAME…: of the mount of mount_volume. The kernel asks what they are as soon as somebody comes,
# as if the time were over for which it knows.
expire() {
    local rc=0
    need_command python3
    python3 "$LIB/expire.py" "$(server_of "$DAEMON")" "$@" || rc=$?
    [ $rc != 77 ] || exit 77
    [ $rc = 0 ] || fail "expire $*"
}

# json PATH [FILE]: a value out of a JSON document, such as json versions.0.label
json() {
    python3 "$LIB/json_value.py" "$@"
}

# stats MOUNTPOINT PATH: a counter of a mount
stats() {
    json "$2" "$1/.datasetfs/stats.json"
}

# member NUMBER FIELD: what the mount mnt says of a member
member() {
    stats mnt "members.$1.$2"
}

# is_member NUMBER FIELD OPERATOR VALUE: for wait_for, such as is_member 1 state = ok
is_member() {
    test "$(member "$1" "$2")" "$3" "$4"
}

# served REPORT [PROGRAM]: how many files datasetfs-run served, to all processes of its report or to one program's
served() {
    python3 - "$@" <<'EOF'
import json, sys
lines = map(json.loads, open(sys.argv[1]))
print(sum(line["opened"] for line in lines if line["program"] in (sys.argv[2:] or [line["program"]])))
EOF
}

RING_SWITCH=/sys/module/fuse/parameters/enable_uring

# ring_switch Y|N: the kernel's switch of FUSE over io_uring; false where it cannot be set. It is one for the machine:
# tests that set it are marked 'alone', and tests/run puts it back.
ring_switch() {
    { echo "$1" >$RING_SWITCH; } 2>/dev/null
}

# sysfs_tree DIRECTORY [FILE…]: the recorded NVMe hosts of tests/lib/nvme.sysfs, for DATASETFS_SYSFS, and what these
# other files of tests/lib add to it
sysfs_tree() {
    local attribute value file
    mkdir -p "$1/class/nvme-subsystem"
    for file in nvme.sysfs "${@:2}"; do
        while read -r attribute value; do
            [ "$attribute" != '#' ] || continue
            sysfs_set "$1" "$attribute" "$value"
        done <"$LIB/$file"
    done
}

# sysfs_set DIRECTORY ATTRIBUTE VALUE; '-> TARGET' as the value: a link
sysfs_set() {
    local path=$1/class/nvme-subsystem/$2
    mkdir -p "${path%/*}"
    case $3 in
    '-> '*) ln -sfn "${3#-> }" "$path" ;;
    *) printf '%s\n' "$3" >"$path" ;;
    esac
}

# sysfs_namespace DIRECTORY DEVICE: the shared namespace of that tree is this block device
sysfs_namespace() {
    local subsystem=$1/class/nvme-subsystem/nvme-subsys0
    mv "$subsystem/nvme0n1" "$subsystem/${2##*/}"
    sysfs_set "$1" "nvme-subsys0/${2##*/}/dev" "$(lsblk -ndo MAJ:MIN "$2" | tr -d ' ')"
}

# spoil FILE OFFSET: inverts one byte; a fixed one may be what is there
spoil() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "%b" "\\x$(printf %x $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

hash_of() {
    sha256sum "$1" | cut -d ' ' -f 1
}

CACHES=/proc/sys/vm/drop_caches
_held=''

# drop_caches [WHICH]: as far as we may, both or those of that number (proc_sys_vm(5)); they are the machine's, so it
# waits for who holds them, but not for ever
drop_caches() {
    sync
    [ "$(id -u)" = 0 ] || return 0
    { [ -n "$_held" ] || flock --shared --timeout 600 9 || true; echo "${1:-3}" >&9; } 2>/dev/null 9>$CACHES || true
}

# evict MOUNTPOINT: what the kernel keeps of the bytes of its files, and of no others
evict() {
    python3 - "$1" <<'END'
import os
import sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        file = os.open(os.path.join(folder, name), os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
END
}

# hold_caches: until this test ends no other one drops them, be it of another run of the suite
hold_caches() {
    { exec {_held}>$CACHES; } 2>/dev/null || return 0
    flock "$_held"
}

# project_files: every file of the sources, one a line, relative to them
project_files() {
    (cd "$DATASETFS_SOURCE" && find . -type f ! -path './.git' ! -path './.git/*' ! -path './build*' \
        ! -path '*/__pycache__/*' ! -name '*.pyc' ! -path './contrib/python/build/*' ! -path './contrib/python/dist/*' \
        ! -path '*.egg-info/*' -printf '%P\n' | LC_ALL=C sort)
}
