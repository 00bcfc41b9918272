#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke timeout=240
# SIGINT and SIGTERM at any moment: status 1, the volume as it was, a new file removed, no temporary files.
. "$(dirname "$0")/../lib/common.sh"

tree many source --files 3000 --per-directory 100
head -c 60M /dev/urandom >source/large
mkdir temporary
pack base source --exclude large
before=$(hash_of base)
whole=0 stopped=0
for ((round = 0; round < 24; round++)); do
    volume=base
    [ $((round % 2)) = 0 ] || volume=new
    signal=INT
    [ $((round % 4)) -lt 2 ] || signal=TERM
    # In a shell of its own background jobs ignore SIGINT; setsid's child does not.
    env TMPDIR="$PWD/temporary" python3 -c '
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
os.execvp(sys.argv[1], sys.argv[1:])' mkdatasetfs --progress none --label "r$round" $volume source 2>err &
    packer=$!
    # It has set its handlers as soon as it holds the source or the volume open.
    wait_for 20 sh -c "! kill -0 $packer || ls -l /proc/$packer/fd | grep -qE '/(source|$volume)\$'" || true
    sleep "$(awk -v r=$round 'BEGIN { printf "%.3f", r * 0.008 }')"
    kill -$signal $packer 2>/dev/null || true
    rc=0
    wait $packer || rc=$?
    if [ $rc = 0 ]; then
        # It was faster: then the version is there and whole.
        whole=$((whole + 1))
        datasetfsctl verify $volume "r$round" >/dev/null || fail "round $round: published, but not clean"
        [ $volume = new ] || { cp base spare; pack base source --format --exclude large; before=$(hash_of base); }
    else
        [ $rc = 1 ] || fail "round $round: status $rc, expected 1: $(cat err)"
        stopped=$((stopped + 1))
        assert_contains "round $round" "$(cat err)" "interrupted"
        assert_eq "round $round: lines" "$(wc -l <err)" 1
        [ $volume = base ] || [ ! -e new ] || fail "round $round: the new volume stayed"
        assert_eq "round $round: the volume" "$(hash_of base)" "$before"
    fi
    rm -f new spare
    left=$(find temporary -mindepth 1)
    [ -z "$left" ] || fail "round $round: left in the temporary directory: $left"
done
say "$stopped stopped, $whole were faster"
[ $stopped -ge 3 ] || fail "only $stopped of 24 were stopped in time: make the source larger"
