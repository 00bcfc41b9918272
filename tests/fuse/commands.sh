#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon ring in=tsan timeout=240
# Commands to a mount: who may give one, whoever has his process number later, that a killed caller's is not carried
# out, and that none waits for a visitor of .datasetfs/versions. And that the end of the mount waits for no device.
# The daemon's reads of the volume are held back by tests/lib/hold.c, so that a command waits.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
need_command python3 cc

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/hold.c" -o hold.so || fail "hold.c does not compile"
chmod 755 . ..
for i in 1 2 3; do
    mkdir source$i
    echo "in $i" >source$i/file
    pack volume source$i --label v$i
done
channels=(dev)
if ring_switch Y; then channels+=(ring); fi

# mount_held OPTIONS: a mount whose reads can be held
mount_held() {
    : >daemon.log
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$PWD/hold.so HOLD_VOLUME=$PWD/volume \
        HOLD_WHILE=$PWD/hold mount_volume volume mnt -o "$1"
}

# A command of root's that waits for the superblocks, and all others behind it.
hold_command() {
    rm -f hold.held
    echo 0 524288 >hold
    datasetfsctl switch --prepare mnt v1 >/dev/null &
    holder=$!
    wait_for 20 test -e hold.held || fail "no command reads the volume"
}

let_go() {
    rm hold
    wait "$holder" || fail "the command that was held fails"
    datasetfsctl switch --prepare mnt v1 >/dev/null || fail "the last command" # and those before it are done
}

label() {
    json label mnt/.datasetfs/version
}

# came COUNT: so many commands came to the daemon. By cat: Python asks of what it opens whether it is a terminal, which
# would count as well.
came() {
    cat mnt/.datasetfs/stats.json >stats.now
    [ "$(json requests.IOCTL stats.now)" -ge "$1" ]
}

# settled PROCESS COUNT: its command waits in the daemon, or it has ended
settled() {
    [ -z "$(started "$1")" ] || came "$2"
}

# A caller who may not switch is killed; somebody who may gets his number before it is his turn.
mount_held version=v1,channel=dev,allow_other,control_group=4711
if setpriv --reuid 65534 --regid 65534 --clear-groups cat mnt/file >/dev/null 2>&1; then
    program=$(command -v datasetfsctl)
    hold_command
    setpriv --reuid 65534 --regid 65534 --clear-groups "$program" switch "$PWD/mnt" v2 >/dev/null 2>&1 &
    caller=$!
    wait_for 20 settled $caller 2 || fail "no second command"
    kill -KILL $caller 2>/dev/null || true
    wait $caller 2>/dev/null || true
    python3 "$LIB/process_number.py" $caller setpriv --groups 4711 sleep 60 2>number.err &
    member=$!
    end_process_at_exit $member
    # member_runs: the number is a member's now
    member_runs() {
        grep -q '^Groups:.*\<4711\>' "/proc/$caller/status"
    }
    if wait_for 10 member_runs; then
        let_go
        assert_eq "the label after the command of a process whose number a member has" "$(label)" v1
        say "a process number that came round"
    else
        say "no process can be given that number: $(cat number.err)"
        let_go
    fi
    kill $member 2>/dev/null || true
    wait $member 2>/dev/null || true
else
    say "another user cannot come here: process numbers were not tested"
fi
unmount mnt

for channel in "${channels[@]}"; do
    mount_held version=v1,channel=$channel
    hold_command
    datasetfsctl switch mnt v2 >/dev/null 2>&1 &
    caller=$!
    wait_for 20 came 2 || fail "no second command"
    kill -KILL $caller
    # Over the ring nobody is answered early.
    [ $channel = ring ] || wait_end $caller || fail "a killed caller waits on"
    let_go
    wait $caller 2>/dev/null || true
    assert_eq "the label after the command of a caller who was killed, channel=$channel" "$(label)" v1
    datasetfsctl switch mnt v2 >/dev/null || fail "no switch after that"
    assert_eq "the label after a switch" "$(label)" v2
    unmount mnt
    say "a killed caller, channel=$channel"
done

# A visit that loads a version, and others behind it, as many as there is room for, hold no command back.
at=$(datasetfsctl list volume --json | json versions.1.index.0.offset /dev/stdin)
for channel in "${channels[@]}"; do
    mount_held version=v1,channel=$channel
    rm -f hold.held
    echo "$at $((at + 4096))" >hold
    stat mnt/.datasetfs/versions/v2 >/dev/null &
    visitors=($!)
    wait_for 20 test -e hold.held || fail "no visit reads the index"
    for i in {1..70}; do
        (rc=0; stat mnt/.datasetfs/versions/x$i >/dev/null 2>x$i.err || rc=$?; echo $rc >x$i.rc) &
        visitors+=($!)
    done
    # one_busy: a visit was refused, so there is no room for another
    one_busy() {
        grep -q "Device or resource busy" x*.err
    }
    wait_for 20 one_busy || fail "70 visits can wait"
    (rc=0; datasetfsctl switch mnt v3 >/dev/null 2>switch.err || rc=$?; echo $rc >switch.rc) &
    switcher=$!
    wait_for 60 test -s switch.rc || fail "a switch waits for a visit"
    assert_eq "how a switch ends while visits wait: $(cat switch.err)" "$(cat switch.rc)" 0
    assert_eq "the label after it" "$(label)" v3
    rm hold
    wait "${visitors[0]}" || fail "the visit that was held fails"
    wait $switcher "${visitors[@]:1}"
    unmount mnt
    rm -f switch.rc ./x*
    say "visits hold no command back, channel=$channel"
done

# Root without its power, as in a container, may not; in a namespace of users of his own he has all capabilities,
# but not there.
mount_held version=v1,allow_other,control_group=4711
weak=(setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin)
refusal="only root with CAP_SYS_ADMIN and members of its control_group may switch this mount"
assert_fails 1 "$refusal" "${weak[@]}" datasetfsctl switch mnt v2
"${weak[@]}" --groups 4711 datasetfsctl switch mnt v2 >/dev/null || fail "a member who is root may not switch"
datasetfsctl switch mnt v1 >/dev/null || fail "root may not switch"
if "${weak[@]}" unshare --user --map-root-user true 2>/dev/null; then
    assert_fails 1 "$refusal" "${weak[@]}" unshare --user --map-root-user datasetfsctl switch mnt v2
    # All users as they are outside: to be told from the outside by the namespace alone.
    cat >inside.sh <<'END'
mkfifo go said
unshare --user sh -c 'echo here >said; read -r line <go; exec "$@"' sh "$@" &
read -r line <said
echo 0 0 4294967295 >/proc/$!/uid_map && echo 0 0 4294967295 >/proc/$!/gid_map || echo "no map" >&2
echo go >go
wait $!
END
    assert_fails 1 "$refusal" "${weak[@]}" bash inside.sh datasetfsctl switch mnt v2
    say "root of a namespace of users"
else
    say "no namespace of users can be made here: not tested"
fi
assert_eq "the label after commands that were refused" "$(label)" v1
unmount mnt
say "root without CAP_SYS_ADMIN"

# The control thread looks for a new version by itself, in a read that does not come back.
mount_held follow=current:1
rm -f hold.held
echo 0 524288 >hold
wait_for 20 test -e hold.held || fail "nobody looks at the volume"
unmount mnt
rm hold
grep -q "the device holds the control thread back, the daemon ends without it" daemon.log ||
    fail "no line about the device: $(cat daemon.log)"
say "a mount that ends while the device keeps the control thread"
