#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc queue=loops timeout=400
# datasetfsctl switch on a mount that the kernel serves: under racing readers every file is wholly of one version and no
# open fails; what is open stays; what a mount or a daemon's switch would refuse is refused, and changes nothing.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
. "$LIB/two_sources.sh"
need_kernel_mounts
need_command python3

label() {
    datasetfsctl status --json theirs | json label
}

# image_of LABEL: its loop device
image_of() {
    losetup --noheadings --output NAME,BACK-FILE | awk -v end=" $1 $PWD/volume" 'index($0, end) { print $1 }'
}

rounds=$(length 20 1000)
two_sources
pack volume source0 --label v0
pack volume source1 --label v1 --no-current

kernel_mount volume
assert_eq "who may read the record" "$(stat -c '%a %U' /run/datasetfs/kernel "$(kernel_records)" | xargs)" \
    "700 root 600 root"
python3 "$DATASETFS_SOURCE/tests/fuse/switch.py" source0 source1 theirs "$rounds" kernel 16 || fail "the switches"
compare source$((rounds % 2)) theirs --ignore holes,inodes
wait_for 20 kernel_has_images 1 || fail "images of old versions stay: $(losetup)"
assert_eq "records" "$(kernel_records | wc -l)" 1
say "$rounds switches under 16 readers"

for folder in kernel shown; do # a program of another release may have written more
    echo 'later one two' >>"/run/datasetfs/$folder/$(basename "$(kernel_records)")"
done
assert_eq "with a field that is not known" "$(label)" v0
datasetfsctl switch theirs v0 >/dev/null
exec 5<theirs/a/1 6<theirs/a
head -c 3 <&5 >begin
mkdir bound
mount --bind theirs/a bound
at_exit umount bound
(cd theirs/a && exec sleep 600) &
walker=$!
end_process_at_exit $walker
is_inside() {
    [ "$(readlink "/proc/$walker/cwd")" = "$PWD/theirs/a" ]
}
wait_for 10 is_inside
assert_contains "a switch" "$(datasetfsctl switch theirs v1 --if-current v0)" "serves version 'v1', loaded in "
compare source1 theirs --ignore holes,inodes
cat begin - <&5 | cmp - source0/a/1 || fail "an open file changed"
cmp "/proc/$$/fd/6/1" source0/a/1 || fail "a descriptor of a directory"
cmp "/proc/$walker/cwd/1" source0/a/1 || fail "a working directory"
cmp bound/1 source0/a/1 || fail "a bind mount of a folder"
kernel_has_images 2 || fail "images: $(losetup)"
assert_fails 1 "only a folder of the data set is mounted on '$PWD/bound'" datasetfsctl switch bound v1
exec 5<&- 6<&-
kill $walker
wait $walker 2>/dev/null || true
umount bound
wait_for 10 kernel_has_images 1 || fail "the old version's image is left"
say "what was open stays, and its devices go with it"

datasetfsctl status --json theirs >status
datasetfsctl list volume --json >list
assert_eq "what status knows" "$(for field in sequence uuid digest switches; do json $field status; done)" \
    "$(for field in sequence uuid digest; do json versions.1.$field list; done; echo $((rounds + 1)))"
since=$(json serving_since status)
[ "$since" -le "$(date +%s)" ] && [ "$since" -gt $(($(date +%s) - 600)) ] || fail "since when: $(cat status)"
assert_eq "bytes of the image" "$(json image_bytes status)" "$(blockdev --getsize64 "$(image_of v1)")"
[ "$(json devices.0.reads status)" -gt 10 ] && [ "$(json devices.0.bytes status)" -gt 2000000 ] ||
    fail "the device: $(cat status)"
assert_contains "status" "$(datasetfsctl status theirs)" "v1, sequence 2"
datasetfsctl top --batch 1 --json theirs >top
assert_eq "what top knows" "$(json mounts.0.state top) $(json mounts.0.version top) $(json mounts.0.sequence top)" \
    "kernel v1 2"
mount_volume volume ours -o version=v0
datasetfs-exporter --listen 127.0.0.1:0 2>exporter.log &
end_process_at_exit $!
wait_for 30 grep -q 'metrics are at http://127.0.0.1:' exporter.log || fail "no exporter: $(cat exporter.log)"
python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' \
    "$(grep -o 'http://[^ ]*' exporter.log)" >metrics
for mount in ours theirs; do
    assert_eq "a scrape of $mount" \
        "$(python3 "$LIB/exposition.py" metrics "datasetfs_up{mountpoint=\"$PWD/$mount\"}")" 1
done
[ "$(python3 "$LIB/exposition.py" metrics "datasetfs_device_reads_total{mountpoint=\"$PWD/theirs\"}")" -gt 10 ] ||
    fail "reads of the device: $(grep device_reads metrics)"
grep -qF "datasetfs_version_info{mountpoint=\"$PWD/theirs\",version=\"v1\",digest=\"$(json digest status)\"," metrics ||
    fail "the version: $(grep version_info metrics)"
unmount ours
assert_eq "devices that are gone" "$(json devices_gone status)" 0
sed -i '/^members /s/[0-9]*$/1/' "/run/datasetfs/shown/$(basename "$(kernel_records)")" # another one has its name now
assert_contains "a device that is gone" "$(datasetfsctl status theirs)" "gone              1 device: reads of what lies"
say "status, top and the exporter"

assert_eq "--prepare" "$(datasetfsctl switch theirs v0 --prepare --json | json prepared_only /dev/stdin)" true
assert_eq "label after --prepare" "$(label)" v1
kernel_has_images 2 || fail "no image after --prepare: $(losetup)"
image=$(image_of v0)
datasetfsctl switch theirs v0 >/dev/null
assert_eq "the image that was prepared" "$(image_of v0)" "$image"
compare source0 theirs --ignore holes,inodes
datasetfsctl switch theirs v1 --prepare >/dev/null
umount theirs
wait_for 10 kernel_has_images 1 || fail "the image of what was mounted stays: $(losetup)"
kernel_mount volume -o version=v1
kernel_has_images 1 || fail "what was prepared stays although the next command has come: $(losetup)"
assert_eq "records" "$(kernel_records | wc -l)" 1
assert_eq "the current version" "$(datasetfsctl switch theirs --json | json label /dev/stdin)" v0
assert_eq "the version that is there" "$(datasetfsctl switch theirs v0 --json | json label /dev/stdin)" v0
say "--prepare"

ln -s "$(command -v datasetfs)" mount.datasetfs
./mount.datasetfs volume theirs -o kernel,version=v1 2>err || fail "'mount -a' after a switch: $(cat err)"
assert_fails 32 "the kernel serves a volume there already: 'umount" ./mount.datasetfs volume theirs -o kernel,version=v9
say "mount -a after a switch"

before=$(kernel_records)
# refused REASON OPERAND…: by a switch, which changes nothing
refused() {
    assert_fails 1 "$1" datasetfsctl switch "${@:2}"
    assert_eq "records after: $1" "$(kernel_records)" "$before"
    assert_eq "label after: $1" "$(label)" v0
    wait_for 10 kernel_has_images 1 || fail "an image is left: $(losetup)"
}
refused "the volume has no version 'v9': choose one that it has, v0, v1" theirs v9
refused "the mount serves 'v0', expected 'v1'" theirs v1 --if-current v1
refused "it keeps the options that it was mounted with ('kernel,version=v1,defaults'), -o is for" theirs v1 -o noexec
mount -t tmpfs none theirs/a
refused "'$PWD/theirs/a' is mounted in it, and would go with it: unmount that first" theirs v1
umount theirs/a
mount -t tmpfs none theirs
assert_fails 1 "not on a datasetfs mount" datasetfsctl switch theirs v1
umount theirs
cp volume saved
slot=$(($(datasetfsctl list volume --json | json superblock_sequence /dev/stdin) % 8))
dd if=/dev/zero of=volume bs=64K seek=$slot count=1 conv=notrunc status=none
refused "is the newest that can be read, but" theirs v1
dd if=saved of=volume bs=64K skip=$slot seek=$slot count=1 conv=notrunc status=none
pack other source1 --label v1
mv volume away
mv other volume
refused "the volume was reformatted: its UUID is " theirs v1
mv volume other
mv away volume
at=$(datasetfsctl list volume --json | json versions.1.index.0.offset /dev/stdin)
printf 'XX' | dd of=volume bs=1 seek=$((at + 9000)) conv=notrunc status=none
refused "its SHA-256 is not the one in the catalogue" theirs v1
dd if=saved of=volume bs=4096 skip=$((at / 4096)) seek=$((at / 4096)) count=8 conv=notrunc status=none
chmod 755 . ..
if as_user cat theirs/a/1 >/dev/null 2>&1; then
    assert_fails 1 "only root may switch a mount that the kernel serves" as_user datasetfsctl switch theirs v1
fi
say "refusals leave the mount as it was"

rm "$(kernel_records)"
assert_fails 1 "with its mount options (trust, digest and others): give them again with -o, '-o defaults' if it had" \
    datasetfsctl switch theirs v1
mv volume away
mv other volume
assert_fails 1 "lacks the version 'v0' that is mounted, so it may be another volume by now" \
    datasetfsctl switch theirs v1 -o defaults
mv volume other
mv away volume
datasetfsctl switch theirs v1 --prepare -o noexec >/dev/null
datasetfsctl switch theirs v1 >/dev/null
findmnt -no OPTIONS theirs | grep -q noexec || fail "the options that were given again do not count"
: >"$(kernel_records)"
datasetfsctl switch theirs v0 -o "" >/dev/null || fail "a record that cannot be read is in the way"
datasetfsctl switch theirs v1 >/dev/null || fail "the switch after '-o \"\"'"
umount theirs
kernel_mount volume
mount -o remount,bind,noexec,nosymfollow theirs
datasetfsctl switch theirs v1 >/dev/null
for option in noexec nosymfollow; do
    findmnt -no VFS-OPTIONS theirs | grep -qw $option || fail "a switch takes back $option"
done
umount theirs
digest=$(datasetfsctl list volume --json | json versions.0.digest /dev/stdin)
kernel_mount volume -o digest="$digest"
assert_fails 1 "expected $digest" datasetfsctl switch theirs v1
umount theirs
say "the mount's options hold for every version"

if command -v ssh-keygen >/dev/null; then
    for who in alice bob; do
        ssh-keygen -q -t ed25519 -N '' -C $who -f $who
        echo "$who $(cut -d' ' -f1,2 $who.pub)" >>signers
    done
    : >revoked
    chmod go-w . signers revoked
    datasetfsctl sign volume v0 --key alice >/dev/null
    kernel_mount volume -o trust=signers,revoked=revoked
    assert_fails 1 "version 'v1' is not trusted: it is not signed" datasetfsctl switch theirs v1
    umount theirs
    datasetfsctl sign volume v1 --key bob >/dev/null
    kernel_mount volume -o trust=signers,revoked=revoked
    datasetfsctl switch theirs v1 2>err >/dev/null || fail "a signed version: $(cat err)"
    assert_contains "what the signature is worth" "$(cat err)" "is signed by 'bob', but the kernel verifies nothing"
    datasetfsctl switch theirs v0 >/dev/null 2>&1
    datasetfsctl switch theirs v1 --prepare >/dev/null 2>&1
    cat bob.pub >revoked
    assert_fails 1 "is revoked" datasetfsctl switch theirs v1
    assert_eq "label" "$(label)" v0
    umount theirs
    say "signatures"
fi

mkdir shared
mount --bind shared shared
at_exit umount --lazy shared
mount --make-shared shared
mkdir shared/mnt
datasetfs -o kernel volume shared/mnt 2>/dev/null
unshare --mount --propagation slave sleep 600 &
slave=$!
end_process_at_exit $slave
is_apart() {
    [ "$(readlink /proc/$slave/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ]
}
wait_for 10 is_apart
cmp "/proc/$slave/root$PWD/shared/mnt/a/1" source0/a/1 || fail "another mount namespace before the switch"
datasetfsctl switch shared/mnt v1 >/dev/null
cmp "/proc/$slave/root$PWD/shared/mnt/a/1" source1/a/1 || fail "another mount namespace does not switch"
assert_eq "mounts there" "$(grep -c "$PWD/shared/mnt" /proc/$slave/mountinfo)" 1
umount shared/mnt
kill $slave
say "other mount namespaces"

pack a,b source0 --label v0 --protect none
pack a,b source1 --label v1 --no-current
kernel_mount a
datasetfsctl switch theirs v1 >/dev/null
compare source1 theirs --ignore holes,inodes
umount theirs
for file in a b volume; do wait_for 10 has_no_loops $file || fail "a loop device of $file is left"; done
loop_device volume
kernel_mount "$LOOP"
datasetfsctl switch theirs v1 >/dev/null
compare source1 theirs --ignore holes,inodes
umount theirs
say "several members, and a device"
