#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A volume of several members is found by any one of them, by a list in any order, and by its UUID; what is missing,
# stale, foreign, there twice or of another branch is refused by name; verify reads every copy and names the member of
# a bad one.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

mkdir -p source/many
for i in {1..200}; do head -c $((i * 37)) /dev/urandom >"source/many/$i"; done
head -c 5000000 /dev/urandom >source/large
pack one source
digest=$(datasetfsctl list --json one | json versions.0.digest)
segment=$((16 << 20)) # no column lies below this

# has_version NAME…: each of them leads to the whole volume
has_version() {
    local name
    for name; do
        datasetfsctl list --json "$name" >list.json || fail "'$name' does not lead to the volume"
        assert_contains "$name" "$(cat list.json)" "$digest"
    done
}

for protect in none mirror:2 mirror:3; do
    say "$protect"
    rm -f a b c
    pack a,b,c source --protect $protect
    has_version a b c a,b,c c,a,b b,c,a ./a,"$PWD/b",c
    datasetfsctl verify a >verify.log || fail "$protect: $(cat verify.log)"
    assert_contains "verify" "$(cat verify.log)" "clean:"
    datasetfsctl dump b >dump
    datasetfsctl dump one | cmp - dump || fail "$protect: another dump"
done

say "each ring is read once"
# ring_reads COMMAND…: how many reads of superblock slots it made
ring_reads() {
    FAULT_KIND=read FAULT_AT=0 FAULT_TO=524288 FAULT_COUNT=$PWD/count FAULT_VOLUME=$PWD/a,$PWD/b,$PWD/c \
        LD_PRELOAD=$PWD/fault.so "$@" >/dev/null || fail "$*"
    cat count
}
if [ "$DATASETFS_BUILD_NAME" = gcc ] && command -v cc >/dev/null; then
    cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
    assert_eq "reads of three rings of eight slots" "$(ring_reads datasetfsctl list a)" 24
    assert_eq "reads of three rings of eight slots" "$(ring_reads datasetfsctl list --space c,a,b)" 24
fi

say "names"
rm a b c
pack a,b,c source
pack foreign,foreign2 source
mv foreign2 x,y # a file whose name looks like a list
has_version foreign x,y
rm one
assert_fails 1 "member 1 is 'b': 1 of 3 members are missing: member 2" datasetfsctl list a,b
assert_fails 1 "'foreign' belongs to another volume" datasetfsctl list a,b,foreign
assert_fails 1 "'b' and 'b' are both member 1" datasetfsctl list a,b,b,c
cp b copy
assert_fails 1 "are both member 1" datasetfsctl list a
has_version a,copy,c
rm copy
mkdir elsewhere
mv c elsewhere
assert_fails 1 "member 2 (" datasetfsctl list a
has_version a,b,elsewhere/c
mv elsewhere/c c
pack other source
assert_fails 1 "'other' is a volume of its own" datasetfsctl list a,other

say "states"
# keep NAME: the volume as it is now
keep() {
    mkdir "$1"
    cp a b c "$1"
}
keep first
pack a source --label v2
keep second
has_version a
cp first/c c
has_version c # one step behind: a publisher that was cut off
cp second/c c
pack a source --label v3
cp first/c c
assert_fails 1 "stale since superblock 1" datasetfsctl list a
cp second/c c
has_version a
pack first/a source --label branched
assert_fails 1 "member 2 is 'first/c': members: member 2 ('') is of another branch" datasetfsctl list a,b,first/c

say "copies"
rm a b c
pack a,b,c source --protect mirror:2
for member in a b c; do
    cp $member elsewhere/kept
    size=$(stat -c %s $member)
    truncate -s $segment $member
    truncate -s "$size" $member
    datasetfsctl verify a >verify.log && fail "the damage of $member is not seen"
    assert_contains "$member" "$(cat verify.log)" " member="
    number=$(printf %d "'$member")
    grep ' member=' verify.log | grep -v " member=$((number - 97)) " && fail "$member: another member is blamed"
    grep 'damaged index' verify.log && fail "$member: the index has another copy"
    mv elsewhere/kept $member
done
has_version a

need_loop
need_root
say "devices"
truncate -s 64M disk1 disk2 disk3
devices=()
for disk in disk1 disk2 disk3; do
    loop_device $disk
    devices+=("$LOOP")
done
pack "${devices[0]},${devices[1]},${devices[2]}" source --protect none
uuid=$(datasetfsctl list --json "${devices[0]}" | json uuid)
has_version "uuid:$uuid" "${devices[@]}" "${devices[2]},${devices[0]},${devices[1]}" "disk1,${devices[1]},disk3"
assert_fails 1 "'${devices[0]}' and 'disk1' are both member 0" datasetfsctl list "${devices[0]},disk1,disk3"

need_command lsblk
say "two paths to one device, and a copy"
loop_device disk1
again=$LOOP
assert_fails 1 "are both member 0" datasetfsctl list "uuid:$uuid"
assert_fails 1 "are both member 0" datasetfsctl list "$again"
has_version "$again,${devices[1]},${devices[2]}"
# As if the second one were the multipath device of the first: that of which nobody is made is taken.
export DATASETFS_SYSFS=$PWD/sys
sysfs_tree sys
for device in "$again" "${devices[@]}"; do
    mkdir -p "sys/class/block/${device##*/}/holders"
    cat "/sys/class/block/${device##*/}/dev" >"sys/class/block/${device##*/}/dev"
    cat "/sys/class/block/${device##*/}/size" >"sys/class/block/${device##*/}/size"
    mkdir -p sys/dev/block
    ln -s "$PWD/sys/class/block/${device##*/}" "sys/dev/block/$(cat "/sys/class/block/${device##*/}/dev")"
done
ln -s "$PWD/sys/class/block/${again##*/}" "sys/class/block/${devices[0]##*/}/holders/${again##*/}"
has_version "uuid:$uuid" "$again" "${devices[1]}"
assert_fails 1 "use '$again', which is made of them" datasetfsctl list "${devices[0]}"
# One that lies on a namespace now, and did not when it was published, is a copy until a list says otherwise.
sysfs_namespace sys "${devices[1]}"
assert_fails 1 "1 of 3 members are missing: member 1" datasetfsctl list "$again"
has_version "$again,${devices[1]},${devices[2]}"
# A namespace that no path leads to is missing at once: whoever read it would wait.
state() {
    sysfs_set sys nvme-subsys0/nvme0/state "$1"
}
for controller in nvme0 nvme1; do
    sysfs_set sys nvme-subsys0/$controller/transport pcie # nothing to reserve
    sysfs_set sys nvme-subsys0/$controller/hostid ""
done
pack "$again,${devices[1]},${devices[2]}" source --label on-a-namespace
has_version "uuid:$uuid" "$again"
state connecting
assert_fails 1 "1 of 3 members are missing: member 1" datasetfsctl list "uuid:$uuid"
assert_fails 1 "1 of 3 members are missing: member 1" datasetfsctl list "$again"
has_version "$again,${devices[1]},${devices[2]}"
state live
# A publish without this member would make it stale, although it may be back in a moment.
pack "$again,${devices[1]},${devices[2]}" source --format --protect mirror:2
state connecting
assert_fails 1 "is reconnecting, and would be stale when it is back: wait for it, or give it up with 'datasetfsctl \
nvme disconnect $(cat sys/class/nvme-subsystem/nvme-subsys0/subsysnqn)'" \
    mkdatasetfs --progress none --degraded "$again" source
state live
pack "$again,${devices[1]},${devices[2]}" source --format --uuid "$uuid"
unset DATASETFS_SYSFS
loop_end "$again"

loop_end "${devices[1]}"
assert_fails 1 "1 of 3 members are missing: member 1" datasetfsctl list "uuid:$uuid"
assert_fails 1 "1 of 3 members are missing: member 1" datasetfsctl list "${devices[2]}"
