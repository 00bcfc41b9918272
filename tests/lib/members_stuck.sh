# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A mirrored volume. One member hangs, fails or is cut off at a random moment under many readers, and is well again
# later: nobody sees an error or a wrong byte, READs do not wait for it, few reads go there, and it is used again. One
# that is slow is read so seldom that nobody notices. Members are files whose reads take a while, so that speed is
# latency and not CPU time. fuse/members-stuck*.sh do this on one channel each: they call mount_on, then the rest.

LATENCY=30000 # µs
mkdir back
small_files source "${SEED:=$RANDOM}" 1200 1
say "SEED=$SEED"
RANDOM=$SEED
pack back/a,back/b,back/c source --protect mirror:2
for member in a b c; do
    slow_device back/$member $member $LATENCY $member.control
done

readers() {
    python3 "$DATASETFS_SOURCE/tests/fuse/members_stuck.py" source mnt "$@"
}

# strike KIND, heal KIND: something happens to member b, and is over
cat >strike <<'END'
case $1 in
hang|eio) echo $1 >b.control ;;
cut) truncate -s 16M back/b ;; # no column lies below
esac
END
heal() {
    [ "$1" != cut ] || cp back/kept back/b
    slow_control b.control $LATENCY
}
cp back/b back/kept

# holds KIND: the same speed two seconds later, at least four fifths of it. A busy machine may be slow at the wrong
# moment, but not each time.
holds() {
    local kind=$1 rates before after
    for _ in {1..10}; do
        rates=$(readers "$many" "$RANDOM" 1.$((RANDOM % 10)) 2 1.5 sh strike "$kind") ||
            fail "$kind: $rates $(cat daemon.log)"
        read -r before after _ <<<"$rates"
        wait_for 20 is_member 1 state != ok || fail "$kind: nobody noticed"
        heal "$kind"
        if [ "$kind" = hang ]; then
            [ "$(sed -n 's/.*late=//p' b.control.log | sort -n | tail -n 1)" -le 8 ] ||
                fail "reads went to a member that hangs: $(cat b.control.log)"
        fi
        say "$kind: $before files/s, then $after"
        [ $((after * 5)) -lt $((before * 4)) ] || return 0
    done
    fail "$kind: $before files/s before, $after two seconds after: $(cat daemon.log)"
}

# comes_back: member b is read again
comes_back() {
    local reads
    reads=$(member 1 reads)
    wait_for 20 is_member 1 in_flight = 0 || fail "reads of it are still out"
    for _ in {1..20}; do
        readers 16 "$RANDOM" 0.5 0 0 >/dev/null || fail "after it came back"
        ! is_member 1 reads -gt $((reads + 50)) || break
    done
    is_member 1 reads -gt $((reads + 50)) || fail "it is not read again: $(cat mnt/.datasetfs/stats.json)"
    wait_for 20 is_member 1 state = ok || fail "its state: $(member 1 state)"
}

# bears_slow: member b becomes ten times slower; two seconds later 99 of 100 files take at most three times as long as
# before. As above, not each time. Then it is well and read again.
bears_slow() {
    local rates before after
    for _ in {1..10}; do
        rates=$(readers 16 "$RANDOM" 1.5 2 2 sh -c "echo ${LATENCY}0 >b.control") || fail "slow: $rates"
        slow_control b.control $LATENCY
        read -r _ _ before after <<<"$rates"
        say "slow: p99 $before ms before, $after ms two seconds after"
        if python3 -c "import sys; sys.exit(not $after <= 3 * $before)"; then comes_back; return; fi
    done
    fail "slow: p99 $before ms before, $after ms two seconds after: $(cat mnt/.datasetfs/stats.json)"
}

# mount_on CHANNEL: the volume, by the mount options channel=CHANNEL
mount_on() {
    channel=$1
    mount_volume a mnt -o "channel=$channel"
}

# tells TEXT: of member b there is this line, unless all ten that there may be in a minute are there, as on a busy
# machine other members seem to hang as well
tells() {
    grep -q "member 1 ('.*/b') of '.*/a' $1" daemon.log ||
        [ "$(grep -cE "copies of other members are read|answers again" daemon.log)" -ge 10 ]
}

# strike_all READERS KIND…: each kind in turn under so many readers, from as many seeds as the length of the run wants
strike_all() {
    local many=$1 seeds seed kind
    shift
    seeds=$(length_in_gcc 1 20)
    for ((seed = 0; seed < seeds; seed++)); do
        for kind; do
            : >daemon.log
            holds "$kind"
            comes_back
            # There are only so many lines a minute, and hang and eio may have used them up when they were tried again.
            [ $seed = 0 ] && [ "$kind" != cut ] || continue
            tells ".*copies of other members" || fail "$kind: no line: $(cat daemon.log)"
            tells "answers again" || fail "$kind: no line: $(cat daemon.log)"
            assert_eq "reads that failed" "$(stats mnt read_failures)" 0
            unmount mnt
            mount_on "$channel" # which has all its lines for the next kind
        done
    done
    assert_eq "reads that failed" "$(stats mnt read_failures)" 0
}

# lists_versions: threads of the daemon that read the volume themselves do not wait for the member that hangs either:
# versions are listed and opened
lists_versions() {
    local lister
    sh strike hang
    for _ in {1..20}; do # on a busy machine few reads, or none of that member, come to their time
        readers 4 "$RANDOM" 0.5 0 0 >/dev/null || fail "hang"
        ! is_member 1 state = suspect || break
    done
    is_member 1 state = suspect || fail "nobody noticed: $(cat mnt/.datasetfs/stats.json)"
    (ls mnt/.datasetfs/versions && datasetfsctl switch mnt v1) >listed 2>&1 &
    lister=$!
    wait_for 60 grep -q 'serves version' listed || fail "versions while a member hangs: $(cat listed)"
    wait $lister || fail "versions: $(cat listed)"
    assert_eq "versions" "$(head -n 1 listed)" v1
    heal hang
    comes_back
}

# is_ahead COUNT: more than so many files were read ahead
is_ahead() {
    [ "$(stats mnt ahead_files)" -gt "$1" ]
}

# walks: a walker, for whom others read ahead, and wait there: READs that wait for them go elsewhere
walks() {
    local files striker
    for files in 100 300; do
        unmount mnt
        mount_on "$channel"
        (wait_for 60 is_ahead $files && sh strike hang) &
        striker=$!
        timeout 1000 python3 "$LIB/compare.py" source mnt >walked 2>&1 ||
            fail "a walker: $(cat walked daemon.log)"
        wait $striker || fail "nothing was read ahead"
        heal hang
    done
}

# ends: unmounted while the member hangs, the daemon waits two seconds for what the device keeps, and goes without it.
# The kernel keeps its threads until the device lets go.
ends() {
    readers 16 3 0.5 0.5 0 sh strike hang >/dev/null || fail "hang"
    umount mnt || fail "unmount while a member hangs"
    sleep 3
    heal hang
    wait_end "$DAEMON" || fail "the daemon does not end"
    wait "$DAEMON" || fail "the daemon ended with status $?: $(cat daemon.log)"
}
