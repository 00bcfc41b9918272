#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke plain
# An ordinary user mounts through fusermount3 and unmounts; allow_other is as /etc/fuse.conf says.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root
need_command fusermount3
[ -e /etc/mtab ] || skip "no /etc/mtab, which fusermount3 reads"
[ -u "$(command -v fusermount3)" ] || skip "fusermount3 is not setuid here"
chmod 1777 . # nobody else can put a program into it
(as_user sh -c 'exec 3<>/dev/fuse') 2>/dev/null || {
    mode=$(stat -c %a /dev/fuse)
    chmod 666 /dev/fuse 2>/dev/null || skip "/dev/fuse is root's alone"
    at_exit chmod "$mode" /dev/fuse
    say "/dev/fuse was root's alone; for this test it is everybody's, as Debian has it"
}

# The build may lie where only root can look: give the user a copy of the programs.
mkdir bin
programs=$PWD/bin
cp "$(command -v datasetfs)" "$(command -v mkdatasetfs)" "$(command -v datasetfsctl)" "$LIB"/compare.py bin/
cp "$(command -v datasetfs-exporter)" bin/
# His sockets are here, and not in /tmp, where fuse/client-user.sh looks at all of his.
mkdir -m 700 runtime
chown 65534 runtime
runtime=$PWD/runtime
as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups \
        env PATH="$programs:$PATH" HOME="$PWD" XDG_RUNTIME_DIR="$runtime" "$@"
}
mkdir -m 777 user
cd user
as_nobody mkdir source mnt
as_nobody sh -c 'echo hello >source/file; mkdir source/dir; echo deep >source/dir/file'
as_nobody mkdatasetfs --progress none volume source >pack.log 2>&1 || { cat pack.log; fail "packing as nobody"; }

as_nobody datasetfs volume mnt >mount.log 2>&1 || { cat mount.log; fail "mounting as nobody"; }
at_exit fusermount3 -u -z mnt
as_nobody python3 "$programs/compare.py" source mnt || fail "trees differ"
grep -q "$PWD/mnt fuse.datasetfs ro,nosuid,nodev" /proc/mounts || fail "/proc/mounts: $(grep "$PWD/mnt" /proc/mounts)"
! grep "$PWD/mnt " /proc/mounts | grep -q allow_other || fail "allow_other without being asked"
pid=$(as_nobody cat mnt/.datasetfs/stats.json | json pid)
assert_eq "the daemon's user" "$(stat -c %u "/proc/$pid")" 65534
assert_contains "status" "$(as_nobody datasetfsctl status mnt)" "v1"

as_nobody datasetfsctl upgrade mnt >upgrade.log 2>&1 || fail "upgrade: $(cat upgrade.log)"
assert_eq "servers before" "$(as_nobody cat mnt/.datasetfs/stats.json | json restarts)" 1
as_nobody python3 "$programs/compare.py" source mnt || fail "trees differ after an upgrade"
chmod 777 "$programs"
assert_fails 1 "cannot upgrade 'mnt': '$programs' has the mode 0777, so others may write it" \
    as_nobody datasetfsctl upgrade mnt
chmod 755 "$programs"

# So are its metrics: root's exporter counts it and says no more of it.
# exported COMMAND…: what an exporter that is started like this says
exported() {
    : >exporter.log
    "$LIB/mount-namespace" "$@" --listen 127.0.0.1:0 2>exporter.log &
    local exporter=$!
    end_process_at_exit $exporter
    wait_for 60 grep -q 'metrics are at' exporter.log || fail "no exporter: $(cat exporter.log)"
    python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=120).read().decode(), end="")' \
        "$(grep -o 'http://[^ ]*' exporter.log)" >exported || fail "the exporter does not answer"
    kill $exporter
    wait $exporter || fail "the exporter ended with status $?"
}
exported datasetfs-exporter
! grep -qF "mountpoint=\"$PWD/mnt\"" exported || fail "root sees it: $(grep -F "$PWD/mnt" exported)"
[ "$(python3 "$LIB/exposition.py" exported datasetfs_exporter_private_mounts)" -ge 1 ] || fail "it is not counted"
exported setpriv --reuid 65534 --regid 65534 --clear-groups "$programs/datasetfs-exporter"
assert_eq "its user's exporter" "$(python3 "$LIB/exposition.py" exported "datasetfs_up{mountpoint=\"$PWD/mnt\"}")" 1

# The mount is the user's to switch; remove and compact the volume's.
as_nobody sh -c 'echo changed >source/file'
as_nobody mkdatasetfs --progress none --label v2 volume source >pack.log 2>&1 ||
    { cat pack.log; fail "publishing as nobody"; }
assert_contains "before the switch" "$(as_nobody cat mnt/file)" "hello"
! datasetfsctl remove volume v1 2>err || fail "root removed what a user's mount serves"
assert_contains "what root is told" "$(cat err)" "'$PWD/mnt' may serve it: "
! as_nobody datasetfsctl remove volume v1 2>err || fail "the user removed what his mount serves"
assert_contains "what he is told" "$(cat err)" "'$PWD/mnt' serves version 'v1'"
as_nobody datasetfsctl switch mnt v2 >/dev/null || fail "switching as nobody"
assert_eq "after the switch" "$(as_nobody cat mnt/file)" "changed"
as_nobody datasetfsctl remove volume v1 2>/dev/null >&2 || fail "removing as nobody"
as_nobody datasetfsctl compact --force volume 2>/dev/null >&2 || fail "compacting as nobody"
as_nobody fusermount3 -u mnt || fail "fusermount3 -u"
wait_end "$pid" || fail "the daemon runs on"

# A signal from the user ends it as well.
as_nobody datasetfs volume mnt
pid=$(as_nobody cat mnt/.datasetfs/stats.json | json pid)
as_nobody kill -TERM "$pid"
wait_end "$pid" || fail "SIGTERM does not end it"
! is_mounted mnt || fail "still mounted after SIGTERM"

# fusermount3 decides what /etc/fuse.conf allows.
if [ -e /etc/fuse.conf ]; then
    echo "# nothing" >fuse.conf
    cat >inside.sh <<'END'
. "$LIB/common.sh"
mount --bind fuse.conf /etc/fuse.conf
assert_fails 32 "option allow_other only allowed if 'user_allow_other' is set" \
    as_nobody datasetfs -o allow_other,channel=dev volume mnt
echo "user_allow_other # for jobs " >fuse.conf
as_nobody datasetfs -o allow_other volume mnt || fail "allow_other, as /etc/fuse.conf permits"
at_exit umount -l mnt
grep "$PWD/mnt " /proc/mounts | grep -q allow_other || fail "no allow_other: $(grep "$PWD/mnt " /proc/mounts)"
assert_eq "what root sees" "$(cat mnt/file)" changed
pid=$(json pid mnt/.datasetfs/stats.json)
umount mnt
wait_end "$pid" || fail "the daemon runs on"

# Files in it seem to be root's. They decide nothing for root.
mkdir ../theirs roots
echo "# nobody" >roots/signers
chown -R 0 roots && chmod 755 roots && chmod 644 roots/signers
mkdatasetfs --progress none roots.vol roots
chmod 644 roots.vol
chown 65534 ../theirs
as_nobody datasetfs -o allow_other roots.vol ../theirs || fail "mounting what root has packed"
at_exit umount -l "$PWD/../theirs"
assert_eq "owner and mode" "$(stat -c '%u %a' ../theirs ../theirs/signers | xargs)" "0 755 0 644"
checked() { datasetfsctl verify --trust "${PWD%/*}/theirs/signers" volume || true; }
assert_contains "a user's mount" "$(checked)" \
    "'${PWD%/*}/theirs' lies on a filesystem that was mounted by user 65534, expected root"
umount ../theirs
datasetfs roots.vol ../theirs
assert_contains "root's mount" "$(checked)" "it is not signed"
umount ../theirs
END
    export -f as_nobody
    export programs runtime
    "$LIB/mount-namespace" bash inside.sh || fail "allow_other"
else
    say "no /etc/fuse.conf"
fi

# No right to the mountpoint, no right to the volume.
mkdir -m 755 rootdir
exits 32 as_nobody datasetfs volume rootdir 2>refused.err
assert_contains "the reason" "$(cat refused.err)" "no write access to mountpoint"
assert_eq "lines of the refusal" "$(wc -l <refused.err)" 1
cp volume private
chmod 600 private
assert_fails 32 "private" as_nobody datasetfs -o channel=dev private mnt

# A device that may only be read, by a daemon without a capability: all of it works, and nothing is open for writing.
truncate -s 64M disk
loop_device disk
mkdatasetfs --progress none --label v1 "$LOOP" source >/dev/null || fail "packing to $LOOP"
at_exit chmod "$(stat -c %a "$LOOP")" "$LOOP"
chmod 444 "$LOOP"
as_nobody datasetfs "$LOOP" mnt >mount.log 2>&1 || { cat mount.log; fail "mounting a device of mode 444"; }
pid=$(as_nobody cat mnt/.datasetfs/stats.json | json pid)
cp -r source next && echo next >next/file
mkdatasetfs --progress none --label v2 "$LOOP" next >/dev/null || fail "publishing to $LOOP"
as_nobody python3 "$programs/compare.py" source mnt || fail "trees differ"
as_nobody datasetfsctl switch mnt v2 >/dev/null || fail "switching"
assert_eq "after the switch" "$(as_nobody cat mnt/file)" "next"
for set in CapEff CapPrm; do
    assert_eq "$set" "$(awk -v set=$set: '$1 == set { print $2 }' "/proc/$pid/status")" 0000000000000000
done
opened=0
for fd in /proc/"$pid"/fd/*; do
    [ "$(readlink "$fd")" = "$LOOP" ] || continue
    flags=$(awk '$1 == "flags:" { print $2 }' "/proc/$pid/fdinfo/${fd##*/}")
    [ $((flags & 3)) = 0 ] || fail "the daemon has $LOOP open with flags $flags"
    opened=$((opened + 1))
done
[ $opened -gt 0 ] || fail "the daemon does not have $LOOP open"
as_nobody fusermount3 -u mnt || fail "fusermount3 -u"
wait_end "$pid" || fail "the daemon runs on"

if can_mount && grep -qw overlay /proc/filesystems; then
    say "without /etc/mtab, which fusermount3 reads, the messages say how to make it"
    as_nobody datasetfs volume mnt >mount.log 2>&1 || { cat mount.log; fail "mounting as nobody"; }
    cat >inside.sh <<'END'
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work"
mount -t overlay none -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" /etc
rm /etc/mtab
shift
status=0
"$@" 2>said || status=$?
cat said
exit $status
END
    mkdir over
    ln -s datasetfs "$programs/umount.datasetfs"
    remedy="fusermount3 needs /etc/mtab, which is missing: 'ln -s /proc/self/mounts /etc/mtab' as root makes it"
    exits 1 "$LIB/mount-namespace" bash inside.sh over setpriv --reuid 65534 --regid 65534 --clear-groups \
        "$programs/umount.datasetfs" "$PWD/mnt" >out
    assert_contains "umount" "$(cat out)" "umount.datasetfs: '$PWD/mnt' stays mounted: $remedy"
    fusermount3 -u mnt || fail "fusermount3 -u"
    wait_for 60 has_no_daemon mnt || fail "the daemon runs on"
fi
