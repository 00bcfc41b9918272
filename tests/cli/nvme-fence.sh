#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=400
# Two hosts and one namespace: a reservation while somebody publishes, given back on every way out, taken over or away
# where a publisher was killed; write protection between publishes. The hosts are two loop devices over one file, the
# namespace's commands are answered by tests/lib/nvme_device.c.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_loop
need_command addpart cc lsblk pkg-config
pkg-config --exists libnvme || skip "no libnvme"

# shellcheck disable=SC2046
cc -D_GNU_SOURCE -O1 -g -Wall -shared -fPIC $(pkg-config --cflags libnvme) -o device.so "$LIB/nvme_device.c" ||
    fail "cannot compile nvme_device.c"
export NVME_STATE=$PWD/state
host_a=5a0c1de7-83ff-4f6b-a6a5-1c2b3d4e5f60
host_b=00112233-4455-6677-8899-aabbccddeeff
truncate -s 512M disk
for host in a b; do
    loop_device disk
    id=host_$host
    sysfs_tree sys_$host
    sysfs_namespace sys_$host "$LOOP"
    sysfs_set sys_$host nvme-subsys0/nvme0/hostid "${!id}"
done
loop_b=$LOOP
can="reserve protect"

# host HOST: its environment, a's or b's, in HOST
host() {
    local id=host_$1
    HOST=("DATASETFS_SYSFS=$PWD/sys_$1" "NVME_HOST=$(tr -d - <<<"${!id}")" "NVME_CAN=$can" "LD_PRELOAD=$PWD/device.so")
}

# on HOST COMMAND…
on() {
    host "$1"
    env "${HOST[@]}" "${@:2}"
}
volume=nvme:uuid:3f2504e0-4f89-41d3-9a0c-0305e82c3301

# reserved HOST FIELD: of the reservation, as that host sees it
reserved() {
    on "$1" datasetfsctl nvme inspect --json $volume | json "reservation.$2"
}

# publish HOST LABEL [OPTIONS…]
publish() {
    on "$1" mkdatasetfs --progress none --label "$2" "${@:3}" $volume source >"publish-$1.out" 2>"publish-$1.err" ||
        fail "publish on $1: $(cat "publish-$1.err")"
}

# start HOST LABEL: a publisher that is stopped in the middle; its number is in PUBLISHER
start() {
    head -c 12M /dev/urandom >slow/file # what is on the volume already would be packed at once
    host "$1"
    env --default-signal=INT,QUIT "${HOST[@]}" mkdatasetfs --progress none --label "$2" --compress zstd:19 \
        $volume slow >slow.out 2>slow.err &
    PUBLISHER=$!
    wait_for 60 recorded || fail "no publisher record: $(cat slow.err)"
    kill -STOP $PUBLISHER
    recorded || fail "it was faster: make the source larger"
}

recorded() {
    [ "$(dd if=disk bs=4096 skip=128 count=1 status=none | head -c 7 | tr -d '\0')" = DSFSPUB ]
}

# finish SIGNAL STATUS: of the publisher that was stopped
finish() {
    local rc=0
    kill -"$1" $PUBLISHER
    kill -CONT $PUBLISHER 2>/dev/null || true
    wait $PUBLISHER || rc=$?
    assert_eq "exit status after SIG$1" $rc "$2"
}

mkdir source slow
echo content >source/file

# --- a reservation for the time of publishing ---

publish a v1
assert_eq "lines of a publish" "$(cat publish-a.err)" ""
assert_eq "after a publish" "$(reserved a type) $(reserved a registrants)" "none 0"
on b mkdatasetfs --progress none --dry-run $volume source >/dev/null || fail "dry run on b"

start a slow1
assert_eq "while publishing" "$(reserved b type) $(reserved b host)" "write-exclusive $host_a"
who="process $PUBLISHER on $(hostname) since $(date -u +%Y)"
assert_fails 1 "host $host_a has it reserved" on b mkdatasetfs --progress none $volume source
assert_fails 1 "$who" on b mkdatasetfs --progress none $volume source
assert_fails 1 "host $host_a has it reserved" on b datasetfsctl current $volume v1
assert_fails 1 "$who" on b datasetfsctl remove $volume v1
assert_eq "registrants after refusals" "$(reserved b registrants)" 1
on b datasetfsctl verify $volume >/dev/null || fail "reading while somebody publishes"
finish CONT 0
assert_eq "after a publish" "$(reserved b type) $(reserved b registrants)" "none 0"
publish b v2
on b datasetfsctl current $volume v1 >/dev/null || fail "current"
assert_eq "after current" "$(reserved a type) $(reserved a registrants)" "none 0"

# --- every way out ---

for signal in INT TERM HUP QUIT; do
    start a slow2
    finish $signal 1
    assert_contains "after SIG$signal" "$(cat slow.err)" "interrupted"
    assert_eq "after SIG$signal" "$(reserved a type) $(reserved a registrants)" "none 0"
done
assert_fails 1 "has a version 'v1' already" on a mkdatasetfs --progress none --label v1 $volume source
assert_fails 1 "cannot open source 'missing'" on a mkdatasetfs --progress none $volume missing
assert_eq "after errors" "$(reserved a type) $(reserved a registrants)" "none 0"

# A change of the catalogue that takes long: compaction, stopped when everything is copied and nothing is flushed.
mkdir half
for n in {1..40}; do head -c 1M /dev/urandom >half/$n; done
on a mkdatasetfs --progress none --label whole $volume half >/dev/null || fail "publish of the whole"
rm half/*[02468]
on a mkdatasetfs --progress none --label half $volume half >/dev/null || fail "publish of a half"
on a datasetfsctl remove $volume whole >/dev/null || fail "remove"
host a
for signal in HUP QUIT TERM; do
    env --default-signal=QUIT "${HOST[@]}" NVME_STOP=1 \
        datasetfsctl compact --below 100 $volume >compact.out 2>compact.err &
    PUBLISHER=$!
    wait_for 60 is_stopped $PUBLISHER || fail "it does not stop: $(cat compact.err)"
    recorded || fail "no publisher record: $(cat compact.err)"
    assert_eq "while compacting" "$(reserved b host)" "$host_a"
    finish $signal $((128 + $(kill -l $signal)))
    assert_eq "after compaction and SIG$signal" "$(reserved a type) $(reserved a registrants)" "none 0"
done
on b datasetfsctl verify $volume half >/dev/null || fail "verify after compaction"

# --- killed: the host's next publisher takes over, or another host does when it is told to ---

start a slow3
finish KILL 137
assert_fails 1 \
    "host $host_a has it reserved; if no publisher runs there any more, 'mkdatasetfs --preempt' takes" \
    on b mkdatasetfs --progress none $volume source
publish a v3
assert_contains "on the same host" "$(cat publish-a.err)" "took over the reservation that a publisher of this host left"
assert_eq "after that" "$(reserved a type) $(reserved a registrants)" "none 0"

start a slow4
finish KILL 137
publish b v4 --preempt
assert_contains "on another host" "$(cat publish-b.err)" "took the reservation away from host $host_a and keeps it"
assert_eq "what was taken away is kept" "$(reserved a host) $(reserved a registrants)" "$host_b 1"
publish b v5
assert_eq "lines of the next publish" "$(cat publish-b.err)" ""
assert_eq "still kept" "$(reserved a host)" "$host_b"
assert_fails 1 "host $host_b has it reserved" on a mkdatasetfs --progress none $volume source
assert_fails 1 "host $host_b has it reserved" on a datasetfsctl nvme release $volume
assert_eq release "$(on b datasetfsctl nvme release $volume)" "'$loop_b' is no longer reserved"
assert_eq "after release" "$(reserved a type) $(reserved a registrants)" "none 0"
assert_eq "release again" "$(on b datasetfsctl nvme release --json $volume | json was_reserved)" false

# Taken from a publisher that lives: it does not write a byte more, however late it wakes up.
start a slow5
assert_fails 1 "another publisher is at work" on a datasetfsctl nvme release $volume
publish b v6 --preempt
before=$(hash_of disk)
finish CONT 1
assert_contains "the one who lost it" "$(cat slow.err)" "refused by the device, another host has it reserved"
assert_eq "the volume after that" "$(hash_of disk)" "$before"
on b datasetfsctl verify $volume >/dev/null || fail "verify"
on b datasetfsctl nvme release $volume >/dev/null || fail "release"
assert_eq "the version that counts" "$(on b datasetfsctl list --json $volume | json current)" v6
if on b datasetfsctl list $volume | grep -q slow5; then fail "a version of the publisher that lost the reservation"; fi

# --- write protection ---

publish a v7 --write-protect
assert_eq protected "$(on b datasetfsctl nvme inspect --json $volume | json write_protected)" true
assert_eq "granule" "$(on b datasetfsctl nvme inspect --json $volume | json write_granule)" 16384
# A target whose blocks are larger than numbers is not asked for more.
assert_eq "granule in no unit" "$(NVME_SHIFT=200 on b datasetfsctl nvme inspect --json $volume | json write_granule)" 0
assert_eq "alignment in no unit" \
    "$(NVME_SHIFT=200 on b datasetfsctl nvme inspect --json $volume | json write_alignment)" 0
assert_fails 1 "it is write-protected; --write-protect lifts that for the publish" \
    on b mkdatasetfs --progress none $volume source
assert_fails 1 "it is read-only or write-protected" on b datasetfsctl current $volume v1
on b datasetfsctl verify $volume v7 >/dev/null || fail "reading what is protected"
publish b v8 --write-protect
assert_eq "protected again" "$(on a datasetfsctl nvme inspect --json $volume | json write_protected)" true
assert_fails 1 "cannot open source 'missing'" on a mkdatasetfs --progress none --write-protect $volume missing
assert_eq "protected after a failure" "$(on a datasetfsctl nvme inspect --json $volume | json write_protected)" true
on a datasetfsctl nvme protect --off $volume >/dev/null || fail "protect --off"
publish a v9
on a datasetfsctl nvme protect $volume >/dev/null || fail "protect"
assert_eq "protected by itself" "$(on a datasetfsctl nvme inspect --json $volume | json write_protected)" true
on a datasetfsctl nvme protect --off --json $volume | json write_protected >off.out
assert_eq "no longer" "$(cat off.out)" false

# mkdatasetfs protects the namespace that it published to, wherever its name leads by then.
cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/swapped_names.c" -o swap.so || fail "swapped_names.c does not compile"
device=/dev/$(on a datasetfsctl nvme list --json | json namespaces.0.device)
ln -s "$device" way
ln -s disk elsewhere
on a env LD_PRELOAD="$PWD/device.so $PWD/swap.so" SWAP_A=way SWAP_B=elsewhere SWAP_OPENED="$device" \
    mkdatasetfs --progress none --write-protect way source >out 2>err ||
    fail "publish while names are swapped: $(cat err)"
assert_eq "where the name leads to" "$(readlink way)" disk
assert_eq "the protection" "$(on a datasetfsctl nvme inspect --json $volume | json write_protected)" true
on a datasetfsctl nvme protect --off $volume >/dev/null || fail "protect --off"

# --- targets that cannot ---

can=""
publish a v10
assert_contains "without reservations" "$(cat publish-a.err)" \
    "nothing keeps other hosts from publishing at the same time: the target has no reservations, ignoring"
assert_eq "release without reservations" "$(on b datasetfsctl nvme release $volume)" "'$loop_b' was not reserved"
assert_fails 1 "its target has no write protection" on a mkdatasetfs --progress none --write-protect $volume source
assert_fails 1 "its target has no write protection" on a datasetfsctl nvme protect $volume
assert_fails 1 "it is not an NVMe namespace" mkdatasetfs --progress none --write-protect disk source
assert_fails 1 "so it cannot be write-protected" mkdatasetfs --progress none --write-protect new source

# --- a partition of the namespace: what is reserved is all of it ---

can="reserve protect"
for host in a b; do
    loop=$(on $host datasetfsctl nvme list --json | json namespaces.0.device)
    add_partition "/dev/$loop" 786432 131072 || skip "no partitions of loop devices"
    number=$(lsblk -ndo MAJ:MIN "/dev/${loop}p1" | tr -d ' ')
    mkdir -p sys_$host/dev/block sys_$host/whole/part
    lsblk -ndo MAJ:MIN "/dev/$loop" | tr -d ' ' >sys_$host/whole/dev
    echo 1 >sys_$host/whole/part/partition
    ln -s ../../whole/part "sys_$host/dev/block/$number"
    declare "part_$host=/dev/${loop}p1"
done
# shellcheck disable=SC2154
on a mkdatasetfs --progress none "$part_a" source 2>part.err || fail "publish on a partition: $(cat part.err)"
notice="meanwhile no other host can write to the other partitions of the namespace either, ignoring"
assert_eq "lines of a publish on a partition" "$(cat part.err)" "mkdatasetfs: '$part_a': $notice"
assert_eq "after that" "$(reserved b type) $(reserved b registrants)" "none 0"
start a slow6
finish KILL 137
# shellcheck disable=SC2154
assert_fails 1 "host $host_a has it reserved" on b mkdatasetfs --progress none "$part_b" source
assert_fails 1 "host $host_a has it reserved" on b datasetfsctl current "$part_b" v1
assert_eq "release by the partition" "$(on a datasetfsctl nvme release "$part_a")" "'$part_a' is no longer reserved"

# A device that other hosts may share, and of which nothing more is known, gets a line;
# a partition of a loop device does not.
rm sys_a/dev/block/*
datasetfsctl current "$part_a" v1 2>part.err >/dev/null || fail "current on a partition"
assert_eq "a partition of a loop device" "$(cat part.err)" ""
on a mkdatasetfs --progress none "$part_a" source 2>part.err >/dev/null || fail "publish on another device"
assert_contains "another device" "$(cat part.err)" \
    "nothing keeps other hosts from publishing at the same time: it is no NVMe namespace on a fabric"
