#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=120
# A volume on a mapping, as of dm-crypt, over a namespace that two hosts share: its identity leads to the mapping, and
# reservations and write protection are the namespace's, though the mapping takes no commands. The hosts are two loop
# devices over one file, their mappings two more, as a recorded sysfs says; tests/lib/nvme_device.c answers commands.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_loop
need_command cc lsblk pkg-config
pkg-config --exists libnvme || skip "no libnvme"

# shellcheck disable=SC2046
cc -D_GNU_SOURCE -O1 -g -Wall -shared -fPIC $(pkg-config --cflags libnvme) -o device.so "$LIB/nvme_device.c" ||
    fail "cannot compile nvme_device.c"
export NVME_STATE=$PWD/state
host_a=5a0c1de7-83ff-4f6b-a6a5-1c2b3d4e5f60
host_b=00112233-4455-6677-8899-aabbccddeeff
volume=nvme:uuid:3f2504e0-4f89-41d3-9a0c-0305e82c3301

number_of() {
    lsblk -ndo MAJ:MIN "$1" | tr -d ' '
}

# mapped DIRECTORY NAMESPACE MAPPING: in that tree the namespace and the mapping on it are these devices
mapped() {
    local space=${2##*/} mapping=${3##*/} block=$1/block
    sysfs_tree "$1" crypt.sysfs
    sysfs_namespace "$1" "$2"
    rm "$1"/dev/block/* "$block"/dm-0/slaves/* "$1/class/nvme-subsystem/nvme-subsys0/$space"/holders/*
    mv "$block/dm-0" "$block/$mapping"
    number_of "$3" >"$block/$mapping/dev"
    sysfs_set "$1" "../../dev/block/$(number_of "$2")" "-> ../../class/nvme-subsystem/nvme-subsys0/$space"
    sysfs_set "$1" "../../dev/block/$(number_of "$3")" "-> ../../block/$mapping"
    sysfs_set "$1" "../../block/$mapping/slaves/$space" "-> ../../../class/nvme-subsystem/nvme-subsys0/$space"
    sysfs_set "$1" "nvme-subsys0/$space/holders/$mapping" "-> ../../../../../block/$mapping"
}

truncate -s 256M disk
declare -A space mapping
for host in a b; do
    id=host_$host
    loop_device disk
    space[$host]=$LOOP
    loop_device disk
    mapping[$host]=$LOOP
    mapped sys_$host "${space[$host]}" "${mapping[$host]}"
    sysfs_set sys_$host nvme-subsys0/nvme0/hostid "${!id}"
done

# host HOST: its environment, a's or b's, in HOST
host() {
    local id=host_$1
    HOST=("DATASETFS_SYSFS=$PWD/sys_$1" "NVME_HOST=$(tr -d - <<<"${!id}")" "NVME_CAN=reserve protect"
        "NVME_DEVICE=$(number_of "${space[$1]}")" "LD_PRELOAD=$PWD/device.so")
}

# on HOST COMMAND…
on() {
    host "$1"
    env "${HOST[@]}" "${@:2}"
}

# reserved HOST FIELD: of the reservation, as that host sees it
reserved() {
    on "$1" datasetfsctl nvme inspect --json $volume | json "reservation.$2"
}

# publish HOST LABEL [OPTIONS…]
publish() {
    on "$1" mkdatasetfs --progress none --label "$2" "${@:3}" $volume source >"publish-$1.out" 2>"publish-$1.err" ||
        fail "publish on $1: $(cat "publish-$1.err")"
}

mkdir source slow
echo content >source/file
head -c 24M /dev/urandom >slow/file

say "identity"
for name in $volume "${mapping[a]}" "${space[a]}"; do
    on a datasetfsctl nvme inspect --json "$name" >inspect.json || fail "inspect of $name"
    assert_eq "identity by $name" "$(json identity inspect.json)" $volume
    assert_eq "mapping by $name" "$(json crypt inspect.json) $(json mapping inspect.json)" "true train"
done
publish a v1
assert_eq "lines of a publish" "$(cat publish-a.err)" ""
assert_eq "lines of summary" "$(grep -c "${mapping[a]}" publish-a.out)" "$(grep -c "/dev/loop" publish-a.out)"
assert_eq "the identity on the volume" "$(on b datasetfsctl list --json "${mapping[b]}" | json identity)" $volume
on b datasetfsctl verify $volume >/dev/null || fail "verify on b"
assert_eq "after a publish" "$(reserved a type) $(reserved a registrants)" "none 0"

say "reservation"
recorded() {
    [ "$(dd if=disk bs=4096 skip=128 count=1 status=none | head -c 7 | tr -d '\0')" = DSFSPUB ]
}
host a
env "${HOST[@]}" mkdatasetfs --progress none --label slow --compress zstd:19 $volume slow >slow.out 2>slow.err &
publisher=$!
wait_for 60 recorded || fail "no publisher record: $(cat slow.err)"
kill -STOP $publisher
recorded || fail "it was faster: make the source larger"
assert_eq "while publishing" "$(reserved b type) $(reserved b host)" "write-exclusive $host_a"
assert_fails 1 "host $host_a has it reserved" on b mkdatasetfs --progress none $volume source
assert_fails 1 "host $host_a has it reserved" on b datasetfsctl current "${mapping[b]}" v1
kill -KILL $publisher
wait $publisher || true
publish b v2 --preempt
assert_contains "--preempt" "$(cat publish-b.err)" "took the reservation away from host $host_a and keeps it"
assert_fails 1 "host $host_b has it reserved" on a datasetfsctl nvme release $volume
assert_eq release "$(on b datasetfsctl nvme release $volume)" "'${mapping[b]}' is no longer reserved"

say "write protection"
# seen VALUE: what the kernels of both hosts show of the namespace
seen() {
    for host in a b; do
        sysfs_set sys_$host "nvme-subsys0/${space[$host]##*/}/ro" "$1"
    done
}
publish a v3 --write-protect
seen 1
assert_eq protected "$(on b datasetfsctl nvme inspect --json $volume | json write_protected)" true
assert_fails 1 "it is write-protected; --write-protect lifts that for the publish" \
    on b mkdatasetfs --progress none $volume source
assert_fails 1 "the device below its mapping is read-only or write-protected" on b datasetfsctl current $volume v1
on b datasetfsctl nvme protect --off $volume >/dev/null || fail "protect --off"
seen 0
on b datasetfsctl current $volume v1 >/dev/null || fail "current"
loop_end "${mapping[b]}"
loop_device disk --read-only
rm -r sys_b
mapping[b]=$LOOP
mapped sys_b "${space[b]}" "$LOOP"
sysfs_set sys_b nvme-subsys0/nvme0/hostid $host_b
for option in "" --write-protect; do
    # shellcheck disable=SC2086
    assert_fails 1 "its mapping is read-only on this host: close it and open it for writing" \
        on b mkdatasetfs --progress none $option $volume source
done
on b datasetfsctl verify $volume >/dev/null || fail "verify on a mapping that is read-only"
assert_eq "the protection" "$(on a datasetfsctl nvme inspect --json $volume | json write_protected)" false

say "a mapping of two devices is a device of its own"
sysfs_set sys_a "../../block/${mapping[a]##*/}/slaves/nvme2n1" \
    "-> ../../../class/nvme-subsystem/nvme-subsys1/nvme2/nvme2n1"
assert_fails 1 "is not an NVMe namespace" on a datasetfsctl nvme inspect "${mapping[a]}"
assert_fails 1 "it is not an NVMe namespace" on a datasetfsctl nvme protect "${mapping[a]}"
assert_eq "mapping" "$(on a datasetfsctl nvme inspect --json "${space[a]}" | json mapping)" None

say "a mount says that it is encrypted"
need_fuse
mkdir -m 0700 cache
DATASETFS_SYSFS=$PWD/sys_b mount_volume $volume mnt -o "cache=$PWD/cache"
assert_eq "members on dm-crypt" "$(stats mnt crypt_members)" 1
assert_contains status "$(datasetfsctl status mnt)" "  at rest           crypt"
assert_fails 1 "datasetfs serves it on '$PWD/mnt'" \
    env "DATASETFS_SYSFS=$PWD/sys_b" datasetfsctl nvme disconnect nqn.2026-01.org.example:train
unmount mnt
mount_volume "${space[b]}" mnt -o "cache=$PWD/cache" # which nobody says is a namespace or lies below a mapping
assert_eq "members on dm-crypt" "$(stats mnt crypt_members)" 0
unmount mnt

say "a cache in clear text"
# warnings COUNT: with those of another mount there are so many
warnings() {
    DATASETFS_SYSFS=$PWD/sys_b mount_volume $volume mnt -o "cache=$PWD/cache"
    unmount mnt
    assert_eq "warnings of clear text" "$(grep -c "clear text" daemon.log)" "$1"
}
assert_eq "warnings about a device that sysfs does not have" "$(grep -c "clear text" daemon.log)" 0
number=$(stat -c %Hd:%Ld cache)
[ "${number%:*}" != 0 ] || skip "the filesystem of '$PWD' does not tell its device"
sysfs_set sys_b ../../block/own/dev "$number"
sysfs_set sys_b "../../dev/block/$number" "-> ../../block/own"
warnings 1
assert_contains "clear text" "$(cat daemon.log)" \
    "cache '$PWD/cache': it has contents of an encrypted volume in clear text: use a folder on an encrypted filesystem"
sysfs_set sys_b ../../block/drive/dev 4000:7 # no machine has it
sysfs_set sys_b ../../dev/block/4000:7 "-> ../../block/drive"
sysfs_set sys_b ../../block/drive/holders/own "-> ../../own"
sysfs_set sys_b ../../block/own/slaves/drive "-> ../../drive"
sysfs_set sys_b ../../block/own/dm/name own
sysfs_set sys_b ../../block/own/dm/uuid CRYPT-LUKS2-own
warnings 1
sysfs_set sys_b ../../block/own/dm/uuid LVM-own
warnings 2
sysfs_set sys_b ../../block/own/slaves/other "-> ../../other"
warnings 2
