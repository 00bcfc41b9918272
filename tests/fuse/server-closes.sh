#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon in=gcc plain timeout=600
# Servers are killed and versions switched under readers, while an open file, a working directory and a mapping use old
# versions: those stay open, each until its last user is gone, the others are closed, and memory is as it was.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
is_root || skip "only root has RESEND and stores"
need_command python3

kills=$(length 30 1000)
switches=$((kills < 200 ? 6 : 20))
python3 - $((kills < 200 ? 3000 : 10000)) <<'P'
import os, random, sys
dice = random.Random(29)
for i in range(int(sys.argv[1])):
    folder = f"source/same/{i % 12:02}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{i}", "wb") as file:
        file.write(dice.randbytes(dice.choice((17, 900, 4096, 9000, 30000))))
P

# version NUMBER: publishes it; its label is in files that a user reads
version() {
    mkdir -p source/names/deep
    echo "v$1" | tee source/label source/names/label source/names/deep/label{0..999} >/dev/null
    printf "v$1\n%.0s" {1..200000} >source/large
    pack volume source --label "v$1" --no-current
}
for ((i = 1; i <= switches + 1; i++)); do
    version $i
done
datasetfsctl current volume v1

# memory: KiB of anonymous memory and of files in memory that server and supervisor have
memory() {
    awk '/^Pss_(Anon|Shmem):/ { sum += $2 } END { print sum }' /proc/{"$DAEMON","$SERVER"}/smaps_rollup
}
# kept: how many files in memory the supervisor keeps, and their KiB; without the texts of .datasetfs, which last as
# long as the kernel has their names
kept() {
    find "/proc/$DAEMON/fd" -lname '/memfd:*' ! -lname '/memfd:datasetfs-texts*' -exec stat -L -c '%b' {} + |
        awk '{ sum += $1 } END { print NR, sum / 2 }'
}

# user KIND LABEL: begins to use the version that is mounted, which has that label
declare -A to from process label
user() {
    local line in out
    mkfifo "$1.in" "$1.out"
    python3 "$LIB/users.py" "$1" "$PWD/mnt" <"$1.in" >"$1.out" 2>>users.err &
    process[$1]=$! label[$1]=$2
    end_process_at_exit $!
    exec {in}>"$1.in" {out}<"$1.out"
    to[$1]=$in from[$1]=$out
    IFS= read -r line <&"${from[$1]}" && [ "$line" = ready ] || fail "no user: $(cat users.err)"
}
# users_are_well: each has its version still
users_are_well() {
    local kind line
    for kind in "${!process[@]}"; do
        echo >&"${to[$kind]}"
        IFS= read -r line <&"${from[$kind]}" || fail "the $kind: $(cat users.err daemon.log)"
        assert_eq "what the $kind shows" "$line" "${label[$kind]}"
    done
}
# user_goes KIND
user_goes() {
    echo end >&"${to[$1]}"
    wait "${process[$1]}" || fail "the $1: $(cat users.err)"
    unset "process[$1]"
}
# open_versions COUNT: so many are
open_versions() {
    [ "$(sed -n 's/^datasetfs_open_versions //p' mnt/.datasetfs/metrics)" = "$1" ]
}
are_open() {
    wait_for 60 open_versions "$1" ||
        fail "versions are open, not $1: $(grep ^datasetfs_open_versions mnt/.datasetfs/metrics; cat daemon.log)"
}

mount_volume volume mnt
assert_eq "what survives" "$(stats mnt survives)" requests
first=$(memory)
kill_server mnt # another one has other pages than the one that mounted
before=$(memory) kept_before=$(kept)
say "memory: $first KiB, $before KiB of the second server, kept: $kept_before"
[ "$before" -le "$first" ] || before=$first # it may have pages still that taking over needed

python3 "$LIB/killed.py" mnt/same source/same 3600 >load.log 2>&1 & LOAD=$!
end_process_at_exit $LOAD
for ((i = 1; i <= switches; i++)); do
    for ((k = 0; k < kills / switches; k++)); do
        kill_server mnt
    done
    users_are_well
    case $i in
    2) user file v2 ;;
    3) user directory v3 ;;
    4) user mapping v4 ;;
    esac
    datasetfsctl switch mnt "v$((i + 1))" >switch.out 2>&1 & switcher=$!
    kill_server mnt
    wait $switcher || fail "switch: $(cat switch.out daemon.log)"
    assert_eq "version" "$(cat mnt/label)" "v$((i + 1))"
    kill -0 $LOAD || fail "readers: $(cat load.log daemon.log)"
done
touch stop
wait $LOAD || fail "readers: $(cat load.log daemon.log)"
say "$(stats mnt restarts) kills, $(stats mnt switches) switches: $(paste -sd ' ' load.log)"

are_open 4
users_are_well
left=4
for kind in directory mapping file; do
    user_goes $kind
    left=$((left - 1))
    are_open $left
    kill_server mnt
    users_are_well
done
# is_as_before: what is kept, once versions are closed
is_as_before() {
    [ "$(kept)" = "$kept_before" ]
}
wait_for 20 is_as_before || fail "kept: $(kept), at first $kept_before: $(ls -l "/proc/$DAEMON/fd")"
after=$(memory)
say "memory: $after KiB"
# ThreadSanitizer remembers accesses, for which its own memory grows.
[ "${DATASETFS_SANITIZER:-}" = thread ] || { [ $((after * 100)) -le $((before * 105)) ] &&
    [ $((after * 100)) -ge $((before * 95)) ]; } || fail "memory: $after KiB, at first $before KiB"
! grep -E "wrong|refused|lost|cannot" daemon.log || fail "see above"
unmount mnt
