#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: clang in=asan,clang
# datasetfsctl nvme against a recorded sysfs tree: what it shows, what it refuses, and that it repeats nothing.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

export DATASETFS_SYSFS=$PWD/sys
train=nqn.2026-01.org.example:train
uuid=3f2504e0-4f89-41d3-9a0c-0305e82c3301
id=5a0c1de7-83ff-4f6b-a6a5-1c2b3d4e5f60
me=nqn.2014-08.org.nvmexpress:uuid:$id
sysfs_tree sys

# --- list and inspect ---

datasetfsctl nvme list >list.out
assert_contains list "$(cat list.out)" "nvme0n1  1.00 GiB, blocks of 4096 bytes, nvme:uuid:$uuid"
assert_contains list "$(cat list.out)" "nvme1  tcp  192.0.2.2:4420  connecting  non-optimized"
if grep -q discovery list.out; then fail "list shows the discovery controller"; fi
datasetfsctl nvme list --json >list.json
assert_eq namespaces "$(json namespaces list.json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')" 2
assert_eq device "$(json namespaces.0.device list.json)" nvme0n1
assert_eq paths "$(json namespaces.0.paths.1.ana_state list.json)" non-optimized
assert_eq time-outs "$(json namespaces.0.paths.1.fast_io_fail_tmo list.json)" None

# kinds FILE: of the warnings
kinds() {
    python3 -c 'import json, sys
print(*[a["kind"] for a in json.load(open(sys.argv[1]))["advice"] if a["warning"]])' "$1"
}

datasetfsctl nvme inspect --json "nvme://$train/1" >inspect.json
assert_eq identity "$(json identity inspect.json)" "nvme:uuid:$uuid"
assert_eq subsystem "$(json subsystem inspect.json)" "$train"
assert_contains reservation "$(json reservation_unknown inspect.json)" "no block device node 259:1"
assert_contains warnings " $(kinds inspect.json) " " writable paths digests "
datasetfsctl nvme inspect "nvme:uuid:$uuid" >inspect.out
assert_contains text "$(cat inspect.out)" "nvme0    tcp 192.0.2.1:4420, live, optimized, 8 queues of 128"
assert_contains text "$(cat inspect.out)" "note:        read-ahead of the device (128 KiB) has no effect"
datasetfsctl nvme inspect --json nvme:eui64:0025385b71b01234 >inspect.json
assert_eq boundary "$(json boundary inspect.json)" 131072
assert_eq warnings "$(kinds inspect.json)" lba-512

assert_fails 1 "is not an NVMe namespace" datasetfsctl nvme inspect /dev/null
assert_fails 1 "'missing': No such file" datasetfsctl nvme inspect missing
assert_fails 1 "among the 2 that are connected" datasetfsctl nvme inspect nvme:nguid:00000000000000000000000000000001
assert_fails 1 "not a UUID" datasetfsctl nvme inspect nvme:uuid:1
assert_eq "a host without NVMe" "$(DATASETFS_SYSFS=$PWD/none datasetfsctl nvme list)" "no NVMe subsystems on this host"
assert_eq "its JSON" "$(DATASETFS_SYSFS=$PWD/none datasetfsctl nvme list --json)" '{"namespaces": []}'

# A namespace that is encrypted here.
sysfs_tree crypt crypt.sysfs
assert_contains "list" "$(DATASETFS_SYSFS=$PWD/crypt datasetfsctl nvme list)" \
    "blocks of 4096 bytes, nvme:uuid:$uuid, crypt, '/dev/mapper/train'"
DATASETFS_SYSFS=$PWD/crypt datasetfsctl nvme list --json >crypt.json
assert_eq "encrypted" "$(json namespaces.0.crypt crypt.json) $(json namespaces.0.mapping crypt.json)" "true train"
assert_eq "not encrypted" "$(json namespaces.1.crypt crypt.json) $(json namespaces.1.mapping crypt.json)" "false None"
assert_contains "inspect" "$(DATASETFS_SYSFS=$PWD/crypt datasetfsctl nvme inspect "nvme:uuid:$uuid")" \
    "mapping      crypt, '/dev/mapper/train'"
if DATASETFS_SYSFS=$PWD/crypt datasetfsctl nvme inspect nvme:eui64:0025385b71b01234 | grep mapping; then
    fail "inspect shows a mapping of another namespace"
fi

# Bytes that a terminal would obey are shown as numbers, in the words of a target and of another machine's sysfs.
cp -r crypt evil
sysfs_set evil nvme-subsys0/subsysnqn $'nqn.\e[2J\x9bm'
sysfs_set evil nvme-subsys0/iopolicy $'\e]0;p'
sysfs_set evil nvme-subsys0/nvme0/address $'traddr=\e[1m\xc2\x9b,trsvcid=\e[3m'
sysfs_set evil nvme-subsys0/nvme0/transport $'t\ec'
sysfs_set evil nvme-subsys0/nvme0/state $'live\x7f'
sysfs_set evil ../../block/dm-0/dm/name $'\e[4mt\x9b'
sysfs_set evil nvme-subsys0/nvme0/nvme0c0n1/ana_state $'\xe9\e7'
for command in list "inspect nvme:uuid:$uuid"; do
    # shellcheck disable=SC2086
    DATASETFS_SYSFS=$PWD/evil datasetfsctl nvme $command >evil.out
    ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f-\xff]' evil.out || fail "$command: $(od -c evil.out)"
    for word in 'nqn.\x1b[2J\x9bm' '\x1b]0;p' '\x1b[1m\xc2\x9b:\x1b[3m' 't\x1bc' 'live\x7f' '\xe9\x1b7' \
        '\x1b[4mt\x9b'; do
        assert_contains "$command" "$(cat evil.out)" "$word"
    done
done
for command in "list --json" "inspect --json nvme:uuid:$uuid"; do
    # shellcheck disable=SC2086
    DATASETFS_SYSFS=$PWD/evil datasetfsctl nvme $command >evil.json
    ! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f-\xff]' evil.json || fail "$command: $(od -c evil.json)"
    assert_contains "$command" "$(cat evil.json)" '"ana_state": "\udce9\u001b7"'
    python3 -m json.tool evil.json >/dev/null || fail "no JSON: $(cat evil.json)"
done
assert_fails 2 '\x1b[2J://x'"' is not tcp://" datasetfsctl nvme connect nqn.x $'\e[2J://x'

# --- connect and disconnect ---

assert_fails 2 "is not the NQN of a subsystem" datasetfsctl nvme connect train tcp://192.0.2.1
assert_fails 2 "is not tcp://ADDRESS[:PORT]" datasetfsctl nvme connect "$train" 192.0.2.1
assert_fails 2 "write an IPv6 address in brackets" datasetfsctl nvme connect "$train" tcp://2001:db8::1
assert_fails 2 "expected 16 to 1024" datasetfsctl nvme connect --queue-size 8 "$train" tcp://192.0.2.1
assert_fails 2 "--fast-io-fail-tmo 300 is longer than --ctrl-loss-tmo 60" \
    datasetfsctl nvme connect --ctrl-loss-tmo 60 "$train" tcp://192.0.2.1
assert_fails 2 "not a UUID" datasetfsctl nvme connect --hostid 7 "$train" tcp://192.0.2.1
assert_fails 2 "expected NQN PORTAL..." datasetfsctl nvme connect "$train"
assert_fails 2 "is not tcp://ADDRESS[:PORT]" datasetfsctl nvme discover 192.0.2.1
# Both portals are connected: nothing is asked of the kernel, not even who this host is;
# the recorded devices are not here.
assert_fails 1 "'$train' is connected, but after 0 s not all devices of its namespaces are there" \
    datasetfsctl nvme connect --wait 0 "$train" tcp://192.0.2.1 tcp://192.0.2.2:4420
assert_fails 1 "'$DATASETFS_SYSFS' is a copy of sysfs" \
    datasetfsctl nvme connect nqn.2026-01.org.example:new tcp://192.0.2.3

# A host name stands for its address, which sysfs shows.
sysfs_set sys nvme-subsys0/nvme0/address traddr=127.0.0.1,trsvcid=4420
sysfs_set sys nvme-subsys0/nvme1/address traddr=::1,trsvcid=4420
assert_fails 1 "'$train' is connected, but after 0 s not all devices of its namespaces are there" \
    datasetfsctl nvme connect --wait 0 "$train" tcp://localhost "tcp://[0:0:0:0:0:0:0:1]"
sysfs_tree sys

# own COMMAND…: on this host, where there must be no fabric
own() {
    env -u DATASETFS_SYSFS "$@"
}
if [ ! -e /etc/nvme/hostnqn ]; then
    assert_fails 1 "this host has no NQN" own datasetfsctl nvme connect nqn.2026-01.org.example:new tcp://192.0.2.3
    own datasetfsctl nvme connect nqn.2026-01.org.example:new tcp://192.0.2.3 tcp://192.0.2.4 2>portals.err &&
        fail "connect without an NQN"
    assert_eq "what both portals lack" "$(wc -l <portals.err)" 1
fi
assert_fails 1 "does not begin with 'nqn.'" \
    own datasetfsctl nvme connect --hostnqn me --hostid $id nqn.2026-01.org.example:new tcp://192.0.2.3
if [ ! -e /dev/nvme-fabrics ]; then
    assert_fails 1 "'tcp://192.0.2.3:4420': there is no '/dev/nvme-fabrics', try 'modprobe nvme-tcp'" \
        own datasetfsctl nvme connect --hostnqn $me nqn.2026-01.org.example:new tcp://192.0.2.3
    own datasetfsctl nvme connect --hostnqn $me nqn.2026-01.org.example:new tcp://192.0.2.3 tcp://192.0.2.4 \
        2>portals.err &&
        fail "connect without a fabric"
    for address in 192.0.2.3 192.0.2.4; do
        assert_contains "why, for each portal" "$(cat portals.err)" \
            "cannot connect: 'tcp://$address:4420': there is no '/dev/nvme-fabrics'"
    done
    [ "$DATASETFS_BUILD_NAME" = clang ] || assert_fails 1 "there is no '/dev/nvme-fabrics', try 'modprobe nvme-loop'" \
        own datasetfsctl nvme discover --hostnqn $me loop
fi

# A fabric whose answers are made up.
if [ "$DATASETFS_BUILD_NAME" = gcc ] && pkg-config --exists libnvme; then
    # shellcheck disable=SC2046
    cc -D_GNU_SOURCE -O1 -g -Wall -shared -fPIC $(pkg-config --cflags libnvme) -o fabrics.so "$LIB/nvme_fabrics.c" ||
        fail "cannot compile nvme_fabrics.c"
    fabrics() {
        own env LD_PRELOAD="$PWD/fabrics.so" "$@"
    }
    assert_eq "discover of what a terminal would obey" \
        "$(fabrics datasetfsctl nvme discover --hostnqn $me tcp://192.0.2.3)" \
        'tcp://\x1b[2J\xc2\x9bm:\x9b1mé  nqn.\x1bc'
    # More lines than there are, than anybody has, than memory can hold, and another number each time.
    for count in 5000 4194305 18014398509481985 18446744073709551615; do
        assert_fails 1 "the discovery log has $count entries, expected at most 4096" \
            fabrics env FABRICS_COUNT=$count datasetfsctl nvme discover --hostnqn $me tcp://192.0.2.3
    done
    assert_fails 1 "cannot read the discovery log: Invalid Field in Command" \
        fabrics env FABRICS_COUNT=100 datasetfsctl nvme discover --hostnqn $me tcp://192.0.2.3
    assert_eq "entries of a log of several pieces" \
        "$(fabrics env FABRICS_COUNT=9 datasetfsctl nvme discover --hostnqn $me tcp://192.0.2.3 | wc -l)" 9
    assert_fails 1 "the discovery log keeps changing" \
        fabrics env FABRICS_CHANGING=1 datasetfsctl nvme discover --hostnqn $me tcp://192.0.2.3
    assert_fails 1 "cannot disconnect controller 'nvme7': Device or resource busy" \
        fabrics env FABRICS_STUCK=1 datasetfsctl nvme discover --hostnqn $me tcp://192.0.2.3
    # Somebody else was faster: the kernel says that the portal is connected.
    assert_fails 1 "'nqn.2026-01.org.example:new' is connected, but after 0 s it shows this host no namespace" \
        fabrics env FABRICS_ERRNO=114 \
        datasetfsctl nvme connect --wait 0 --hostnqn $me nqn.2026-01.org.example:new tcp://localhost
    # Lines that the kernel is given, and the names of its errors.
    fabrics env FABRICS_LINES="$PWD/lines" FABRICS_ERRNO=111,22,113,1 datasetfsctl nvme connect --hostnqn $me \
        --queues 3 --ctrl-loss-tmo off --digests nqn.2026-01.org.example:new tcp://192.0.2.3 \
        "tcp://[2001:db8::1]:4421" rdma://192.0.2.4 loop 2>lines.err && fail "what the kernel refuses is connected"
    common="nr_io_queues=3,keep_alive_tmo=5"
    lasting="reconnect_delay=2,ctrl_loss_tmo=-1,fast_io_fail_tmo=300"
    whose="hostnqn=$me,hostid=$id"
    target="nqn=nqn.2026-01.org.example:new"
    assert_eq "lines" "$(<lines)" "$target,transport=tcp,traddr=192.0.2.3,trsvcid=4420,$whose,$common,$lasting,\
hdr_digest,data_digest
$target,transport=tcp,traddr=2001:db8::1,trsvcid=4421,$whose,$common,$lasting,hdr_digest,data_digest
$target,transport=rdma,traddr=192.0.2.4,trsvcid=4420,$whose,$common,$lasting
$target,transport=loop,$whose,$common"
    assert_eq "errors" "$(<lines.err)" "datasetfsctl: cannot connect: 'tcp://192.0.2.3:4420': connection refused
datasetfsctl: cannot connect: 'tcp://[2001:db8::1]:4421': the kernel refused the options; the kernel log says why
datasetfsctl: cannot connect: 'rdma://192.0.2.4:4420': no answer, or the kernel refused it; the kernel log says which
datasetfsctl: cannot connect: 'loop': Operation not permitted"
fi

assert_fails 1 "'nvme2' is a local drive" datasetfsctl nvme disconnect nvme2
assert_fails 1 "there is no controller 'nvme9'" datasetfsctl nvme disconnect nvme9
datasetfsctl nvme disconnect --json "$train" >disconnect.json 2>/dev/null &&
    fail "a controller of a copy of sysfs was disconnected"
assert_eq "disconnect --json that fails" "$(<disconnect.json)" '{"disconnected": []}'
assert_eq "disconnect of nothing" "$(datasetfsctl nvme disconnect nqn.2026-01.org.example:new)" \
    "'nqn.2026-01.org.example:new' was not connected"

# A namespace that is mounted keeps its last live path, and may lose the others.
if can_loop && can_mount; then
    truncate -s 32M disk
    mkfs.ext4 -q disk
    loop_device disk
    mkdir mnt
    mount "$LOOP" mnt
    at_exit umount mnt
    sysfs_set sys nvme-subsys0/nvme0n1/dev "$(lsblk -ndo MAJ:MIN "$LOOP" | tr -d ' ')"
    assert_fails 1 "'nvme0n1' is in use, --force disconnects it anyway: it is mounted on" \
        datasetfsctl nvme disconnect "$train"
    assert_fails 1 "is in use" datasetfsctl nvme disconnect nvme0
    assert_fails 1 "is a copy of sysfs" datasetfsctl nvme disconnect nvme1
    assert_fails 1 "is a copy of sysfs" datasetfsctl nvme disconnect --force "$train"
fi

# claimed DEVICE: somebody has it for itself; the number of the process is in CLAIM
claimed() {
    python3 -c 'import os, sys, time
os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
print("claimed", flush=True)
time.sleep(600)' "$1" >claim &
    CLAIM=$!
    end_process_at_exit $CLAIM
    wait_for 20 grep -q claimed claim || fail "'$1' cannot be claimed"
}

# Uses that the mount table does not show: a mount in another namespace, and any other claim, also one of a partition.
if can_loop && can_mount; then
    umount mnt
    sysfs_tree claims
    sysfs_namespace claims "$LOOP"
    export DATASETFS_SYSFS=$PWD/claims
    assert_fails 1 "is a copy of sysfs" datasetfsctl nvme disconnect "$train"
    hidden="'${LOOP##*/}' is in use, --force disconnects it anyway: "
    hidden+="it or a partition of it is part of LVM or RAID"
    "$LIB/mount-namespace" sh -c 'mount "$1" mnt && echo mounted && exec sleep 600' mount "$LOOP" >mounted &
    CLAIM=$!
    end_process_at_exit $CLAIM
    wait_for 20 grep -q mounted mounted || fail "no mount in another mount namespace"
    assert_fails 1 "$hidden" datasetfsctl nvme disconnect "$train"
    kill $CLAIM
    wait $CLAIM || true
    if command -v addpart >/dev/null && add_partition "$LOOP" 2048 2048; then
        claimed "${LOOP}p1"
        assert_fails 1 "$hidden" datasetfsctl nvme disconnect "$train"
        kill $CLAIM
        wait $CLAIM || true
        delpart "$LOOP" 1
    fi
    assert_fails 1 "is a copy of sysfs" datasetfsctl nvme disconnect "$train"
    export DATASETFS_SYSFS=$PWD/sys
fi

# --- without libnvme: what takes a command to a controller says so, and a publish goes on without a fence ---

if [ "$DATASETFS_BUILD_NAME" = clang ]; then
    missing="this datasetfs was built without libnvme"
    assert_fails 1 "cannot discover: $missing" own datasetfsctl nvme discover --hostnqn $me loop
    if can_loop; then
        truncate -s 64M namespace
        loop_device namespace
        sysfs_tree plain
        sysfs_namespace plain "$LOOP"
        export DATASETFS_SYSFS=$PWD/plain
        volume=nvme:uuid:$uuid
        assert_eq inspect "$(datasetfsctl nvme inspect --json $volume | json commands_unknown)" "$missing"
        assert_fails 1 "$missing" datasetfsctl nvme protect $volume
        assert_fails 1 "$missing" datasetfsctl nvme release $volume
        mkdir source
        echo content >source/file
        mkdatasetfs --progress none $volume source 2>publish.err || fail "publish: $(cat publish.err)"
        assert_contains publish "$(cat publish.err)" \
            "nothing keeps other hosts from publishing at the same time: $missing, ignoring"
        datasetfsctl verify $volume >/dev/null || fail "verify"
    fi
fi
