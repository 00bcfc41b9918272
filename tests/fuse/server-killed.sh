#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=asan timeout=900
# The server of a mount gets SIGKILL again and again while eight readers compare files: no error, no wrong byte. The
# same with a switch every second and with members, one of which fails; old versions are closed in the end.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
is_root || skip "only root has RESEND and stores" # users' mounts are in fuse/unprivileged.sh
seconds=$(length 5 120)
files=$((seconds < 60 ? 1500 : 10000))

mkdir source source2
python3 - source $files <<'P'
import os, random, sys
dice = random.Random(29)
for i in range(int(sys.argv[2])):
    folder = f"{sys.argv[1]}/{i % 12:02}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{i}", "wb") as file:
        file.write(dice.randbytes(dice.choice((17, 900, 4096, 9000, 30000, 120000))))
with open(f"{sys.argv[1]}/00/large", "wb") as file:
    for _ in range(24):
        file.write(dice.randbytes(1 << 20))
P
echo "of the first version" >source/which
cp -r source/. source2
echo "of the second version" >source2/which

# restarts MOUNTPOINT
restarts() {
    json restarts "$1/.datasetfs/stats.json"
}

# begin_load MOUNTPOINT: eight readers, and kills until they have ended, one every 200 ms, but only when the last server
# has answered; the log of the readers is load.log
begin_load() {
    rm -f stop
    BEGAN=$SECONDS
    python3 "$LIB/killed.py" "$1" source 86400 >load.log 2>&1 &
    LOAD=$!
    end_process_at_exit $LOAD
    killing "$1" $LOAD & KILLER=$!
    end_process_at_exit $KILLER
}
killing() {
    while [ -n "$(started "$2")" ]; do
        kill_server "$1"
        sleep 0.2
    done
}

# is_enough MOUNTPOINT: the load was there for so long, and for two kills at least, or it has failed
is_enough() {
    [ -z "$(started $LOAD)" ] || { [ $((SECONDS - BEGAN)) -ge $seconds ] && [ "$(restarts "$1")" -ge 2 ]; }
}

# end_load MOUNTPOINT
end_load() {
    wait_for $((seconds + 120)) is_enough "$1" || fail "only $(restarts "$1") servers died: $(cat daemon.log)"
    touch stop
    wait $LOAD || fail "$(tail -n 5 load.log; cat daemon.log)"
    wait $KILLER || fail "no kills: $(cat daemon.log)"
    say "$(restarts "$1") kills: $(paste -sd ' ' load.log)"
    compare source "$1"
}

pack volume source --label v1
pack volume source2 --label v2
datasetfsctl current volume v1

say "one member"
mount_volume volume mnt
assert_eq "what survives" "$(json survives mnt/.datasetfs/stats.json)" requests
exec 7<mnt/.datasetfs/stats.json
begin_load mnt
end_load mnt
exec 7<&-
! grep -E "wrong|refused|lost|cannot" daemon.log || fail "see above"
unmount mnt

say "a switch every second"
mount_volume volume mnt
begin_load mnt
switches=0
until is_enough mnt; do
    to=v$((1 + (switches + 1) % 2))
    datasetfsctl switch mnt $to >switch.out 2>&1 || fail "switch to $to: $(cat switch.out daemon.log)"
    assert_eq "version" "$(json label mnt/.datasetfs/version)" $to
    case $to in v1) cmp mnt/which source/which ;; v2) cmp mnt/which source2/which ;; esac ||
        fail "not the content of $to"
    switches=$((switches + 1))
    sleep 1
done
datasetfsctl switch mnt v1 >/dev/null
end_load mnt
say "$switches switches"
[ "$(json switches mnt/.datasetfs/stats.json)" -ge $switches ] || fail "switches are missing"
# one_version: every version but the served one is closed
one_version() {
    [ "$(sed -n 's/^datasetfs_open_versions //p' mnt/.datasetfs/metrics)" = 1 ]
}
wait_for 60 one_version || fail "old versions stay open: $(cat mnt/.datasetfs/stats.json daemon.log)"
unmount mnt

say "four members, one of which fails"
pack a,b,slow,d source --protect mirror:2
mv slow fails
slow_device fails slow 0 slow.control
mount_volume a,b,slow,d mnt
slow_control slow.control eio
begin_load mnt
end_load mnt
unmount mnt
