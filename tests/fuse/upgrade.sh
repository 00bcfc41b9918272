#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan timeout=400
# The program of a mount is replaced under readers, again and again; a program that cannot take over is refused, and
# the old one goes on.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root
own_namespace # of 'upgrade --all', too
upgrades=$(length 5 100)

mkdir source bin
python3 - source <<'P'
import os, random, sys
dice = random.Random(8)
for i in range(600):
    folder = f"{sys.argv[1]}/{i % 12:02}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{i}", "wb") as file:
        file.write(dice.randbytes(dice.choice((17, 900, 4096, 9000, 30000, 120000))))
with open(f"{sys.argv[1]}/large", "wb") as file:
    file.write(dice.randbytes(24 << 20))
P
pack volume source --label v1
cp -r source source2
echo "of the second version" >source2/second
pack volume source2 --label v2
datasetfsctl current volume v1

program=$(command -v datasetfs)
PATH=$PWD/bin:$PATH
# install_program FILE: as a package manager does
install_program() {
    cp "$1" bin/new
    chmod 755 bin/new
    mv bin/new bin/datasetfs
}
# of MOUNTPOINT KEY
of() {
    json "$2" "$1/.datasetfs/stats.json"
}
# upgraded MOUNTPOINT: it serves with the program that is installed
upgraded() {
    assert_eq "the program is old" "$(of "$1" program_is_old)" false
    assert_eq "supervisor" "$(of "$1" pid)" "$DAEMON"
}

install_program "$program"
mount_volume volume mnt -o control_group=12345
assert_eq "program" "$(of mnt program)" "$PWD/bin/datasetfs"

say "$upgrades upgrades under readers"
python3 "$LIB/killed.py" mnt source $((upgrades + 20)) >load.log 2>&1 & LOAD=$!
end_process_at_exit $LOAD
for ((i = 1; i <= upgrades; i++)); do
    sleep 0.5
    install_program "$program"
    assert_eq "the program is old" "$(of mnt program_is_old)" true
    datasetfsctl upgrade mnt >upgrade.out 2>&1 || fail "upgrade $i: $(cat upgrade.out daemon.log load.log)"
    upgraded mnt
    assert_eq "servers before" "$(of mnt restarts)" $i
done
touch stop
wait $LOAD || fail "readers: $(cat load.log; cat daemon.log)"
rm stop
say "$(tail -1 load.log)"
compare source mnt
! grep -E "was killed|lost|cannot" daemon.log || fail "see above"

say "status and --all"
! datasetfsctl status mnt | grep -q "older one than" || fail "status: $(datasetfsctl status mnt)"
# Elsewhere --all would reach mounts that are not ours.
is_alone() {
    [ "$(grep -c ' - fuse.datasetfs ' /proc/self/mountinfo)" = 1 ]
}
is_alone || say "there are other mounts here: without --all"
! is_alone || assert_eq "all" "$(datasetfsctl upgrade --all)" "no mount here runs an older program than is installed"
install_program "$program"
assert_contains "status" "$(datasetfsctl status mnt)" "an older one than is installed: 'datasetfsctl upgrade $PWD/mnt'"
if is_alone; then
    assert_eq "all" "$(datasetfsctl upgrade --all)" "'$PWD/mnt' goes on with the installed program"
else
    datasetfsctl upgrade mnt >/dev/null
fi
upgraded mnt

if is_alone; then
    say "the packages upgrade every mount"
    packaging=$DATASETFS_SOURCE/contrib/packaging
    sed -n '/^%post$/,/^%files$/{/^if/,/^fi/p}' "$packaging/datasetfs.spec" >post
    mkdir mnt2
    datasetfs volume mnt2
    # upgrades SAID SCRIPT ARGUMENT…: with mnt served by the program before
    upgrades() {
        install_program "$program"
        assert_contains "${*:2}" "$(sh -e "${@:2}" 2>&1)" "$1"
    }
    for call in "$packaging/debian/datasetfs.postinst configure 0.0.1" "post 2"; do
        # shellcheck disable=SC2086
        upgrades "'$PWD/mnt' goes on with the installed program
'$PWD/mnt2' goes on with the installed program" $call
        upgraded mnt
        assert_eq "the program of the second" "$(of mnt2 program_is_old)" false
    done
    for call in "$packaging/debian/datasetfs.postinst configure" \
        "$packaging/debian/datasetfs.postinst abort-upgrade 0.0.1" "post 1"; do
        # shellcheck disable=SC2086
        assert_eq "$call" "$(upgrades "" $call)" ""
        assert_eq "$call: the program is old" "$(of mnt program_is_old)" true
    done
    umount mnt2
    echo exits >bin/does
    install_program "$DATASETFS_BUILD/tests/next-program"
    assert_contains "a mount that stays" "$(sh -e post 2 2>&1)" "mounts that were not upgraded go on as they are"
    install_program "$program"
    datasetfsctl upgrade mnt
    upgraded mnt
fi

say "programs that cannot take over"
# refused REASON: and the mount goes on
refused() {
    local before
    before=$(of mnt server_pid)
    assert_fails 1 "cannot upgrade 'mnt': $1" datasetfsctl upgrade mnt
    [ "${2:-}" = another ] || assert_eq "server" "$(of mnt server_pid)" "$before"
    cmp source/large mnt/large || fail "the mount does not go on"
}
install_program "$DATASETFS_BUILD/tests/next-program"
echo exits >bin/does
refused "the new program has ended with status 1 before it was ready"
echo crashes >bin/does
refused "the new program was killed by signal 11 before it was ready"
echo late >bin/does
refused "the new program has ended with status 3 before it served" another
if [ "$upgrades" -ge 100 ]; then # the supervisor waits for 30 s
    echo hangs >bin/does
    refused "the new program does not say whether it can go on"
fi
echo "no program" >bin/text
install_program bin/text
refused "the new program cannot be executed"
install_program "$DATASETFS_BUILD/tests/datasetfs-other-record"
refused "the new program refuses: recovery record: it begins with 0x4443455253465344, has format 3 and "
rm bin/datasetfs
refused "cannot open '$PWD/bin/datasetfs'"
install_program "$program"
chmod g+w bin/datasetfs
refused "'$PWD/bin/datasetfs' has the mode 0775, so others may write it"
chmod g-w bin/datasetfs
chmod o+w bin
refused "'$PWD/bin' has the mode 0757, so others may write it"
chmod o-w bin
chown 4711 bin/datasetfs
refused "'$PWD/bin/datasetfs' belongs to user 4711"
chown 0 bin/datasetfs

say "who may"
chmod 755 .
cp "$(command -v datasetfsctl)" ctl
assert_fails 1 "only root with CAP_SYS_ADMIN may upgrade this mount" \
    setpriv --reuid 4711 --regid 12345 --clear-groups ./ctl upgrade "$PWD/mnt"

say "a switch at the same time"
for ((i = 0; i < 6; i++)); do
    datasetfsctl upgrade mnt >upgrade.out 2>&1 & upgrade=$!
    sleep 0.0$((i * 15 % 100))
    to=v$((2 - i % 2))
    datasetfsctl switch mnt $to >switch.out 2>&1 || fail "switch: $(cat switch.out daemon.log)"
    wait $upgrade || fail "upgrade: $(cat upgrade.out daemon.log)"
    assert_eq "version" "$(json label mnt/.datasetfs/version)" $to
done

say "two at the same time"
datasetfsctl upgrade mnt >one.out 2>&1 & one=$!
datasetfsctl upgrade mnt >two.out 2>&1 || assert_contains "the second" "$(cat two.out)" "another upgrade is under way"
wait $one || assert_contains "the first" "$(cat one.out)" "another upgrade is under way"
upgraded mnt

say "the server is killed meanwhile"
# killed: whatever the supervisor has started by now
killed() {
    pgrep -P "$DAEMON" | xargs -r kill -KILL || true
}
for ((i = 0; i < 4; i++)); do
    datasetfsctl upgrade mnt >upgrade.out 2>&1 & upgrade=$!
    sleep 0.0$((i * 13))
    killed
    wait $upgrade || assert_contains "upgrade" "$(cat upgrade.out)" "the new program was killed by signal 9"
    cmp source2/large mnt/large || fail "the mount does not go on: $(cat daemon.log)"
done
upgraded mnt

say "an umount at the same time"
for ((i = 0; i < 4; i++)); do
    datasetfsctl upgrade mnt >upgrade.out 2>&1 & upgrade=$!
    sleep 0.0$((i * 13))
    umount --lazy mnt || fail "umount: $(cat daemon.log)"
    wait $upgrade || assert_contains "upgrade of what is gone" "$(cat upgrade.out)" "cannot upgrade 'mnt': "
    wait_end "$DAEMON"
    ! is_mounted mnt || fail "it is still mounted"
    mount_volume volume mnt
done
unmount mnt

say "mounts that cannot"
mount_volume volume mnt -o nosupervisor
refused "the mount has no supervisor: unmount it and mount it again"
unmount mnt

say "the other record, upgraded to this one"
install_program "$DATASETFS_BUILD/tests/datasetfs-other-record"
mount_volume volume mnt
install_program "$program"
refused "the new program refuses: recovery record: it begins with 0x4443455253465344, has format 4 and "
unmount mnt
