#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=gcc,asan
# The server of a mount gets SIGKILL again and again while eight readers compare files: no error, no wrong byte. The
# same with a switch every second and with members; old versions are closed in the end.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
is_root || skip "only root has RESEND and stores" # users' mounts are in fuse/unprivileged.sh
loops="${DATASETFS_LOOPS:-short}"
seconds=5
[ "$loops" != full ] || seconds=120

mkdir source source2
python3 - source 1500 <<'P'
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

# killing MOUNTPOINT SECONDS: kills the server whenever it has answered; prints how often
killing() {
    local end=$((SECONDS + $2)) kills=0
    while [ $SECONDS -lt $end ] && [ ! -e stop ]; do
        kill_server "$1"
        kills=$((kills + 1))
        sleep 0.2
    done
    echo $kills
}

# loaded MOUNTPOINT: readers and kills
loaded() {
    local kills
    python3 "$LIB/killed.py" "$1" source $seconds >load.log 2>&1 &
    LOAD=$!
    end_process_at_exit $LOAD
    kills=$(killing "$1" $((seconds - 1)))
    wait $LOAD || fail "after $kills kills: $(cat load.log; cat daemon.log)"
    say "$kills kills: $(tail -1 load.log)"
    [ "$(restarts "$1")" -ge 2 ] || fail "only $(restarts "$1") servers died: $(cat daemon.log)"
    compare source "$1"
}

pack volume source --label v1
pack volume source2 --label v2
datasetfsctl current volume v1

say "one member"
mount_volume volume mnt
assert_eq "what survives" "$(json survives mnt/.datasetfs/stats.json)" requests
exec 7<mnt/.datasetfs/stats.json
loaded mnt
exec 7<&-
! grep -E "wrong|refused|lost|cannot" daemon.log || fail "see above"

say "switches in between"
python3 "$LIB/killed.py" mnt source $seconds >load.log 2>&1 & LOAD=$!
end_process_at_exit $LOAD
switches=0
end=$((SECONDS + seconds - 1))
while [ $SECONDS -lt $end ]; do
    kill_server mnt
    to=v$((1 + (switches + 1) % 2))
    datasetfsctl switch mnt $to >switch.out 2>&1 & switcher=$!
    [ $((switches % 2)) = 0 ] || sleep 0.05
    kill_server mnt
    wait $switcher || fail "switch to $to: $(cat switch.out daemon.log)"
    assert_eq "version" "$(json label mnt/.datasetfs/version)" $to
    case $to in v1) cmp mnt/which source/which ;; v2) cmp mnt/which source2/which ;; esac ||
        fail "not the content of $to"
    switches=$((switches + 1))
    sleep 0.3
done
wait $LOAD || fail "after $switches switches: $(cat load.log daemon.log)"
say "$switches switches: $(tail -1 load.log)"
assert_eq "switches" "$(json switches mnt/.datasetfs/stats.json)" $switches
datasetfsctl switch mnt v1 >/dev/null
# one_version: every version but the served one is closed
one_version() {
    [ "$(cat mnt/.datasetfs/metrics | sed -n 's/^datasetfs_open_versions //p')" = 1 ]
}
wait_for 60 one_version || fail "old versions stay open: $(cat mnt/.datasetfs/stats.json daemon.log)"
unmount mnt

say "four members, one of which goes away"
pack a,b,c,d source --protect mirror:2
mount_volume a,b,c,d mnt
mv c gone
loaded mnt
unmount mnt
