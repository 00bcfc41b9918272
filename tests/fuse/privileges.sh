#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke once
# A daemon of root's gives up what it does not need: no_new_privs, four capabilities and no others in
# every thread, no core. With these it still reaches a mountpoint in another user's folder, and knows the
# groups of a caller that proc hides. Its supervisor is not killed for memory.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
need_command setpriv

mkdir -p source
echo hello >source/file
pack volume source --label v1
echo changed >source/file
pack volume source --label v2

# DAC_READ_SEARCH, IPC_LOCK, SYS_PTRACE and SYS_ADMIN, of those that we have ourselves.
kept=$(printf '%016x' $((0x284004 & 0x$(awk '$1 == "CapPrm:" { print $2 }' /proc/self/status))))

# check_threads PROCESS LEAST: so many threads at least
check_threads() {
    local status threads=0
    for status in "/proc/$1/task/"*/status; do
        assert_eq "CapPrm of $status" "$(awk '$1 == "CapPrm:" { print $2 }' "$status")" "$kept"
        assert_eq "CapEff of $status" "$(awk '$1 == "CapEff:" { print $2 }' "$status")" "$kept"
        assert_eq "CapInh of $status" "$(awk '$1 == "CapInh:" { print $2 }' "$status")" 0000000000000000
        assert_eq "NoNewPrivs of $status" "$(awk '$1 == "NoNewPrivs:" { print $2 }' "$status")" 1
        threads=$((threads + 1))
    done
    [ $threads -ge "$2" ] || fail "only $threads threads"
}

mkdir -m 700 private
chown 65534 private
chmod 600 volume
mv volume private/
mount_volume private/volume private/mnt
check_threads "$DAEMON" 1
check_threads "$SERVER" 3
assert_eq "the server when memory runs out" "$(cat "/proc/$SERVER/oom_score_adj")" "$(cat /proc/self/oom_score_adj)"
unsafe="the kernel may kill the supervisor when memory runs out, and the mount with it: "
unsafe+="there is no CAP_SYS_RESOURCE here"
if ((0x$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) >> 24 & 1)); then # CAP_SYS_RESOURCE
    assert_eq "the supervisor when memory runs out" "$(cat "/proc/$DAEMON/oom_score_adj")" -1000
    ! grep "$unsafe" daemon.log || fail "it says that it is not safe"
else
    assert_eq "words of the supervisor's danger" "$(grep -c "$unsafe" daemon.log)" 1
fi
datasetfsctl switch private/mnt v1 >/dev/null || fail "no switch"
assert_eq "content" "$(cat private/mnt/file)" hello
kill -TERM "$DAEMON"
wait_end "$DAEMON" || fail "SIGTERM does not unmount: $(cat daemon.log)"
! is_mounted private/mnt || fail "still mounted"
others=$(grep -cvE "serves version|if its server dies|$unsafe" daemon.log || true)
assert_eq "lines of the log but that it serves, and what ends it" "$others" 0

setpriv --bounding-set=-sys_resource datasetfs private/volume private/mnt 2>out || fail "no mount in the background"
assert_contains "what it says without CAP_SYS_RESOURCE" "$(cat out)" "$unsafe"
pid=$(json pid private/mnt/.datasetfs/stats.json)
end_daemon_at_exit "$pid" private/mnt
check_threads "$pid" 1
check_threads "$(json server_pid private/mnt/.datasetfs/stats.json)" 3
umount private/mnt
wait_end "$pid" || fail "the daemon runs on"

mv private/volume .
mkdir mnt
cat >core.py <<'END'
"""Whether a program leaves a core, and whether the daemon does."""
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time


def leaves_core(process):
    os.kill(process, signal.SIGABRT)
    return os.WCOREDUMP(os.waitpid(process, 0)[1])


PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # the server is ours when the supervisor is gone
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
if not leaves_core(subprocess.Popen(["sleep", "600"]).pid):
    print("- nothing leaves a core here")
    sys.exit()
with open("core.log", "w", encoding="utf-8") as log:
    daemon = subprocess.Popen(["datasetfs", "-f", "volume", "mnt"], stderr=log)
deadline = time.monotonic() + 60
while " serves version " not in open("core.log", encoding="utf-8").read():
    assert daemon.poll() is None and time.monotonic() < deadline, open("core.log", encoding="utf-8").read()
    time.sleep(0.02)
server = int(subprocess.check_output(["pgrep", "-P", str(daemon.pid)]))
left = [leaves_core(process) for process in (daemon.pid, server)]
subprocess.run(["umount", "--lazy", "mnt"], check=True)
assert left == [False, False], f"supervisor and server, whether they leave a core: {left}"
END
python3 core.py || fail "cores"

# The programs may lie where only root can look.
cp "$(command -v datasetfsctl)" .
chmod 755 .
cat >hidden.sh <<'END'
. "$LIB/common.sh"
mount -t proc -o hidepid=2,gid=4242 proc /proc || skip "no proc with hidepid"
mount_volume volume mnt -o control_group=4343
as_nobody() {
    setpriv --reuid 65534 --regid 65534 --bounding-set=-all --inh-caps=-all "$@"
}
assert_fails 1 "may switch this mount" as_nobody --clear-groups ./datasetfsctl switch mnt v1
as_nobody --groups 4343 ./datasetfsctl switch mnt v1 || fail "a member of the group may not switch: $(cat daemon.log)"
unmount mnt
END
rc=0
unshare -p -f "$LIB/mount-namespace" bash hidden.sh || rc=$?
[ $rc = 0 ] || [ $rc = 77 ] || fail "with a proc that hides processes"
