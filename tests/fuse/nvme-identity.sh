#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A volume named by the identity of its namespace, in every program; a copy of it is told.
# The namespace is a loop device of a recorded sysfs tree.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_loop
need_command lsblk

export DATASETFS_SYSFS=$PWD/sys
uuid=3f2504e0-4f89-41d3-9a0c-0305e82c3301
volume=nvme:uuid:$uuid
truncate -s 64M disk
loop_device disk
sysfs_tree sys
sysfs_namespace sys "$LOOP"

# transport NAME: of the namespace's controllers
transport() {
    local controller
    for controller in nvme0 nvme1; do
        sysfs_set sys nvme-subsys0/$controller/transport "$1"
    done
}
for controller in nvme0 nvme1; do
    sysfs_set sys nvme-subsys0/$controller/hostid ""
done
transport pcie # a local drive: nothing to reserve
mkdir source
echo content >source/file

pack $volume source
datasetfsctl list --json $volume >list.json
assert_eq "the path" "$(json volume list.json)" "$LOOP"
assert_eq "the identity on the volume" "$(json identity list.json)" $volume
datasetfsctl verify "nvme://nqn.2026-01.org.example:train/1" >/dev/null || fail "verify by NQN and number"
datasetfsctl nvme inspect --json "$LOOP" >inspect.json
assert_eq "what inspect says of the device" "$(json identity inspect.json)" $volume

mount_volume $volume mnt
assert_eq content "$(cat mnt/file)" content
assert_eq "the source of the mount" "$(findmnt -no SOURCE "$PWD/mnt")" $volume
assert_eq "the volume of a mount" "$(datasetfsctl list --json mnt | json volume)" "$LOOP"
assert_eq "lines about copies" "$(grep -c "copy" daemon.log || true)" 0
assert_fails 1 "datasetfs serves it on" mkdatasetfs --progress none --format $volume source
transport tcp
assert_fails 1 "is in use" datasetfsctl nvme disconnect nqn.2026-01.org.example:train
transport pcie
unmount mnt
mount_volume $volume mnt -o version=v1
assert_eq "a pinned source" "$(findmnt -no SOURCE "$PWD/mnt")" $volume@v1
assert_fails 1 "datasetfs serves it on" mkdatasetfs --progress none --format $volume source
unmount mnt

# The same bytes elsewhere: in a file, and on another namespace.
cp disk copy
: >daemon.log
mount_volume copy mnt
unmount mnt
assert_contains "a copy in a file" "$(cat daemon.log)" \
    "'$PWD/copy' was published on '$volume' and lies on something else now: this is a copy, ignoring"
other=00112233-4455-6677-8899-aabbccddeeff
sysfs_set sys "nvme-subsys0/${LOOP##*/}/uuid" $other
: >daemon.log
mount_volume nvme:uuid:$other mnt
unmount mnt
assert_contains "a clone" "$(cat daemon.log)" \
    "'nvme:uuid:$other' was published on '$volume' and lies on 'nvme:uuid:$other' now: this is a copy"

# A publish makes it its own.
pack nvme:uuid:$other source
assert_eq "the identity after a publish" "$(datasetfsctl list --json "$LOOP" | json identity)" nvme:uuid:$other
pack file source
assert_eq "the identity of a file" "$(datasetfsctl list --json file | json identity)" ""

# Members know what they fail with: the subsystem. Copies lie on another one, or a line says that they cannot.
domains() {
    datasetfsctl list --json "$1" | python3 -c '
import json, sys
print(*[member["domain"].rpartition(":")[2] or "-" for member in json.load(sys.stdin)["member_list"]])'
}
devices=()
for disk in second third; do
    truncate -s 64M $disk
    loop_device $disk
    devices+=("$LOOP")
done
again=$(basename "${devices[0]}")
for attribute in nsid=2 size=131072 ro=0 hidden=0 wwid=uuid.2; do
    sysfs_set sys "nvme-subsys0/$again/${attribute%%=*}" "${attribute#*=}"
done
sysfs_set sys "nvme-subsys0/$again/uuid" "${volume##*:}"
sysfs_set sys "nvme-subsys0/$again/dev" "$(lsblk -ndo MAJ:MIN "${devices[0]}" | tr -d ' ')"
apart=nvme:uuid:$other,$volume,${devices[1]}
mkdatasetfs --progress none --force --format --protect mirror:2 "$apart" source >pack.log 2>&1 || fail "$(cat pack.log)"
assert_eq "domains" "$(domains "$apart")" "train train -"
! grep "may be lost together" pack.log || fail "a warning without a reason"
mkdatasetfs --progress none --format --protect mirror:3 "$apart" source >pack.log 2>&1 || fail "$(cat pack.log)"
assert_contains "copies in one subsystem" "$(cat pack.log)" \
    "copies of the same files lie in one NVMe subsystem, 'nqn.2026-01.org.example:train', and may be lost together"
datasetfsctl member replace "$apart" 0 fresh >replace.log 2>&1 || fail "replace: $(cat replace.log)"
assert_eq "domains with another member" "$(domains "fresh,$volume,${devices[1]}")" "- train -"
rm -r "sys/class/nvme-subsystem/nvme-subsys0/$again"

assert_fails 1 "no namespace '$volume' among the 2 that are connected" mkdatasetfs --progress none $volume source
assert_fails 1 "no namespace '$volume'" datasetfsctl list $volume
assert_fails 32 "no namespace '$volume'" datasetfs $volume mnt
assert_fails 1 "expected nvme:uuid:" mkdatasetfs --progress none nvme:7 source
