#!/bin/bash
# SPDX-License-Identifier: MIT
# The unit datasetfs@: its commands start a mount, stop it, and clear up behind a daemon that was killed; within its
# limits a mount has a cache and a server is replaced, and systemd hears of all that it has to know. It finds no fault
# with the unit, with that of shared mounts, with the exporter's, the mount unit, the manual's unit of a job, and with
# what it makes of the manual's line of fstab. Where the unit cannot be installed the build says so.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
need_command setpriv
own_namespace # the exporter keeps each mount that it sees busy for a moment

unit=$DATASETFS_BUILD/contrib/datasetfs@.service
page=$DATASETFS_SOURCE/man/datasetfs-nvme.7
mkdir source
echo hello >source/file
pack volume source --label v1
mkdir -p etc/datasetfs

# run KEY: the unit's commands
run() {
    python3 "$LIB/unit.py" "$unit" train "$1"
}

start() {
    run ExecStartPre || fail "ExecStartPre"
    python3 "$LIB/unit.py" "$unit" train ExecStart >>daemon.log 2>&1 &
    DAEMON=$!
    end_daemon_at_exit "$DAEMON" "$PWD/a mountpoint"
    wait_for 30 cmp source/file "a mountpoint/file" || { cat daemon.log; fail "no mount"; }
}

# Notes what systemd would be told, a line each, behind the process that tells it.
cat >listen.py <<'END'
import socket, struct
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
listener.bind("notify.socket")
while True:
    text, ancillary, _, _ = listener.recvmsg(4096, socket.CMSG_SPACE(12))
    process = struct.unpack("3i", ancillary[0][2][:12])[0]
    with open("told", "a") as told:
        for line in text.decode().split("\n"):
            print(process, line, file=told)
END
python3 listen.py &
end_process_at_exit $!
wait_for 30 test -S notify.socket || fail "nobody listens"
export NOTIFY_SOCKET=$PWD/notify.socket

# told PROCESS LINE: that process has told systemd so
told() {
    wait_for 30 grep -qx "$1 $2" told || fail "no '$2' of process $1: $(cat told)"
}

sed -n 's/\\-/-/g; /^\[Unit\]$/,/^\.ft$/{/^\.ft$/!p}' "$page" >job.service
read -ra findmnt < <(sed -n 's/^ExecStartPre=//p' job.service)
[ "${findmnt[-1]:-}" = /mnt/train ] || fail "the manual's unit of a job: $(cat job.service)"
# job_may_start: what a job's unit asks before it starts
job_may_start() {
    "${findmnt[@]:0:${#findmnt[@]} - 1}" "$PWD/a mountpoint" >/dev/null
}

cat >etc/datasetfs/train.conf <<END
# comments and empty lines are allowed

VOLUME=$PWD/volume
MOUNTPOINT="$PWD/a mountpoint"
OPTIONS=version=v1,noexec
END
! job_may_start || fail "a job starts without the mount"
start
umount --lazy "a mountpoint"
wait_end "$DAEMON" || fail "the daemon runs on"
assert_eq "the mountpoint that was made" "$(stat -c %a "a mountpoint")" 755
start
job_may_start || fail "no job starts on the mount"
SERVER=$(server_of "$DAEMON")
[ "$SERVER" != "$DAEMON" ] || fail "no supervisor"
for line in "MAINPID=$DAEMON" READY=1 WATCHDOG=1; do told "$DAEMON" "$line"; done
grep -q " $PWD/a.040mountpoint fuse.datasetfs .*noexec" /proc/mounts || fail "no noexec in: $(cat /proc/mounts)"
run ExecReload || fail "ExecReload"
assert_eq "servers before" "$(json restarts "a mountpoint/.datasetfs/stats.json")" 1
SERVER=$(server_of "$DAEMON")
exec 7<"a mountpoint/file"
run ExecStop || fail "ExecStop"
assert_eq "an open file after the stop" "$(cat <&7)" hello
exec 7<&-
wait_end "$DAEMON" || fail "the daemon runs on"
wait "$DAEMON" || fail "status $? at the end"
told "$SERVER" STOPPING=1
grep -qx NotifyAccess=all "$unit" || fail "systemd hears the main process alone, others told: $(cat told)"
run ExecStopPost || say "nothing to clear up"

# tells_again: since told had that many lines
tells_again() {
    sed "1,${lines}d" told | grep -qx "$DAEMON WATCHDOG=1"
}
sed -i '/^OPTIONS/d' etc/datasetfs/train.conf
start
for line in "MAINPID=$DAEMON" READY=1; do told "$DAEMON" "$line"; done # whoever notes it may be late
lines=$(wc -l <told)
kill_server "a mountpoint"
cmp source/file "a mountpoint/file" || fail "another server, and another file"
wait_for 30 tells_again || fail "no WATCHDOG=1 of another server: $(cat told)"
! sed "1,${lines}d" told | grep -E 'MAINPID|READY|STOPPING' || fail "the unit's state changes with its server"
kill_daemon "a mountpoint" || fail "it survives SIGKILL"
! stat -f "a mountpoint" 2>dead.err || fail "the mount of a killed daemon answers"
run ExecStopPost || fail "a dead mount is not cleared up"
start
run ExecStop || fail "ExecStop"
wait_end "$DAEMON" || fail "the daemon runs on"
# Something else on the mountpoint is not ours to take away.
mount -t tmpfs none "a mountpoint"
at_exit umount "$PWD/a mountpoint"
run ExecStopPost && fail "it found something to clear up"
is_mounted "a mountpoint" || fail "it took away somebody else's mount"
! job_may_start || fail "a job starts on somebody else's mount"

echo 'CONNECT="nqn.2026-01.org.example:train tcp:/192.0.2.1"' >>etc/datasetfs/train.conf
run ExecStartPre 2>connect.err && fail "a wrong portal was connected"
assert_contains "CONNECT" "$(cat connect.err)" "'tcp:/192.0.2.1'"
# Several subsystems, of which one is enough.
printf '#!/bin/sh\necho "$*" >>asked\ntest "$3" != dead\n' >connects
chmod +x connects
sed "s,/usr/bin/datasetfsctl,$PWD/connects," "$unit" >several.service
# connect VALUE: status of a start with this CONNECT, and what was connected
connect() {
    sed -i '/^CONNECT/d' etc/datasetfs/train.conf
    echo "CONNECT=\"$1\"" >>etc/datasetfs/train.conf
    : >asked
    rc=0
    python3 "$LIB/unit.py" several.service train ExecStartPre || rc=1
    assert_eq "start with CONNECT='$1', and what was asked for" "$rc $(paste -sd ',' asked)" "$2"
}
connect "" "0 "
connect "one tcp://a --wait 3" "0 nvme connect one tcp://a --wait 3"
connect "one tcp://a; two tcp://b tcp://c" "0 nvme connect one tcp://a,nvme connect two tcp://b tcp://c"
connect "dead tcp://a; two tcp://b" "0 nvme connect dead tcp://a,nvme connect two tcp://b"
connect "dead tcp://a" "1 nvme connect dead tcp://a"
connect "--dhchap-secret-file /etc/nvme/host.secret --tls one tcp://a" \
    "0 nvme connect --dhchap-secret-file /etc/nvme/host.secret --tls one tcp://a"

# The folder that a package makes is one that a mount takes.
if command -v systemd-tmpfiles >/dev/null; then
    systemd-tmpfiles --create --root="$PWD/machine" --prefix=/var/cache - \
        <"$DATASETFS_SOURCE/contrib/systemd/datasetfs.tmpfiles" || fail "systemd-tmpfiles"
    sed -i '/^CONNECT/d' etc/datasetfs/train.conf
    echo "OPTIONS=cache=$PWD/machine/var/cache/datasetfs" >>etc/datasetfs/train.conf
    start
    wait_for 20 test -e machine/var/cache/datasetfs/*/data || fail "nothing is kept: $(cat daemon.log)"
    run ExecStop || fail "ExecStop"
    wait_end "$DAEMON" || fail "the daemon runs on"
    sed -i '/^OPTIONS/d' etc/datasetfs/train.conf
fi

# A mount in a namespace of the unit's own would be seen by nobody else: systemd.exec(5), SANDBOXING.
namespaces='Private|Protect|ProcSubset|ReadOnly|ReadWrite|Inaccessible|Exec(utable)?Paths|NoExec|Bind|Temporary'
namespaces+='|Root|Mount|Dynamic'
for each in "$unit" "$DATASETFS_BUILD/contrib/datasetfs-attach@.service"; do
    grep -qx 'Before=remote-fs.target' "$each" || fail "$each: consumers may stop after it"
done
! grep -E "^($namespaces|State|Cache)" "$unit" "$DATASETFS_BUILD/contrib/datasetfs-"{attach,follow}@.service ||
    fail "it has a mount namespace of its own"

need_command systemd-analyze
sed "s,/usr/bin/datasetfs,$DATASETFS_BUILD/root&," "$unit" >datasetfs@train.service
cp "$DATASETFS_SOURCE/contrib/systemd/mnt-train.mount" .
export MANPATH=$DATASETFS_BUILD/root/usr/share/man
sed "s,/usr/bin/datasetfs,$DATASETFS_BUILD/root&," "$DATASETFS_BUILD/contrib/datasetfs-exporter.service" \
    >datasetfs-exporter.service
sed "s,/usr/bin/datasetfs,$DATASETFS_BUILD/root&," "$DATASETFS_BUILD/contrib/datasetfs-attach@.service" \
    >datasetfs-attach@0-1.service
sed "s,/usr/bin/datasetfs,$DATASETFS_BUILD/root&," "$DATASETFS_BUILD/contrib/datasetfs-follow@.service" \
    >datasetfs-follow@mnt-train.service
systemd-analyze verify ./datasetfs@train.service ./mnt-train.mount ./job.service ./datasetfs-exporter.service \
    ./datasetfs-attach@0-1.service ./datasetfs-follow@mnt-train.service >verify.log 2>&1 ||
    { cat verify.log; fail "systemd-analyze verify"; }
[ ! -s verify.log ] || fail "systemd-analyze verify: $(cat verify.log)"
if systemd-analyze security --help | grep -q -- --threshold; then
    systemd-analyze security --offline=yes --threshold=50 ./datasetfs@train.service >security.log ||
        { cat security.log; fail "systemd-analyze security"; }
    systemd-analyze security --offline=yes --threshold=50 ./datasetfs-attach@0-1.service >security.log ||
        { cat security.log; fail "systemd-analyze security of a shared mount"; }
    systemd-analyze security --offline=yes --threshold=20 ./datasetfs-exporter.service >security.log ||
        { cat security.log; fail "systemd-analyze security of the exporter"; }
fi

csi=$DATASETFS_BUILD/contrib/datasetfs-csi.service
if [ -e "$csi" ]; then # built with libnghttp2
    ! grep -E "^($namespaces|State|Cache)" "$csi" || fail "the plugin for Kubernetes has a mount namespace of its own"
    sed "s,/usr/bin/datasetfs,$DATASETFS_BUILD/root&," "$csi" >datasetfs-csi.service
    systemd-analyze verify ./datasetfs-csi.service >verify.log 2>&1 ||
        { cat verify.log; fail "systemd-analyze verify"; }
    [ ! -s verify.log ] || fail "systemd-analyze verify: $(cat verify.log)"
fi

cat >pkg-config <<'END'
#!/bin/sh
case $* in *systemd*) exit 1 ;; esac
exec /usr/bin/pkg-config "$@"
END
chmod +x pkg-config
PKG_CONFIG=$PWD/pkg-config meson setup -Dtests=false without "$DATASETFS_SOURCE" >meson.log 2>&1 ||
    { cat meson.log; fail "meson setup"; }
assert_contains "meson setup without systemd.pc" "$(cat meson.log)" "the unit datasetfs@ is not installed"

# The exporter's unit refuses no call that strace sees when the exporter is asked.
# LeakSanitizer does not work under strace.
if [ "$DATASETFS_BUILD_NAME" = gcc ] && (strace -D -f -qq -o none true) 2>/dev/null; then
    sed -i '/^CONNECT/d' etc/datasetfs/train.conf
    start
    "$LIB/mount-namespace" strace -f -qq -s 200 -e signal=none -o trace \
        datasetfs-exporter --listen 127.0.0.1:0 2>exporter.log &
    end_process_at_exit $!
    tracer=$!
    wait_for 60 grep -q 'metrics are at' exporter.log || fail "no exporter: $(cat exporter.log)"
    python3 -c 'import sys, urllib.request
assert b"datasetfs_exporter_scrapes_total 1" in urllib.request.urlopen(sys.argv[1], timeout=60).read()' \
        "$(grep -o 'http://[^ ]*' exporter.log)" || fail "the exporter does not answer"
    pkill -TERM -P "$tracer"
    wait "$tracer" || fail "the exporter ended with status $?"
    run ExecStop || fail "ExecStop"
    python3 "$LIB/unit_allows.py" "$DATASETFS_BUILD/contrib/datasetfs-exporter.service" trace >refused ||
        { cat refused; fail "the unit refuses what the exporter does"; }
    [ ! -s refused ] || fail "the unit refuses what the exporter does: $(cat refused)"
fi

generator=/lib/systemd/system-generators/systemd-fstab-generator
[ -x $generator ] || skip "no $generator"
sed -n 's/\\-/-/g; /^ *nvme:uuid:.* datasetfs /p' "$page" >fstab
mkdir generated
SYSTEMD_FSTAB=$PWD/fstab $generator generated generated generated || fail "the generator refuses: $(cat fstab)"
device='dev-disk-by\x2did-nvme\x2duuid.3f2504e0\x2d4f89\x2d41d3\x2d9a0c\x2d0305e82c3301.device'
for line in After=nvmf-autoconnect.service "After=$device" "Requires=$device"; do
    grep -qxF "$line" generated/mnt-train.mount || fail "no $line in: $(cat generated/mnt-train.mount)"
done
! grep -q BindsTo generated/mnt-train.mount || fail "bound to the device: $(cat generated/mnt-train.mount)"
systemd-analyze verify --man=no ./generated/mnt-train.mount || fail "systemd-analyze verify"
