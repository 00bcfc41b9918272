#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A target that holds something else, or is in use, is refused without --force and stays as it is.
. "$(dirname "$0")/../lib/common.sh"

mkdir source
echo x >source/file

# refused TARGET MESSAGE
refused() {
    local before
    before=$(hash_of "$1")
    assert_fails 1 "$2" mkdatasetfs --progress none "$1" source
    assert_eq "$1 afterwards" "$(hash_of "$1")" "$before"
}

echo "my diary" >diary
refused diary "diary"
head -c 3000000 /dev/urandom >noise
refused noise "noise"
truncate -s 8M image
mkfs.ext4 -q -F image
refused image "ext4"
pack image source --force
assert_eq "versions" "$(datasetfsctl list --json image | json versions.0.label)" v1
pack diary source --force
datasetfsctl verify diary >/dev/null || fail "verify after --force"

# An empty file and a blank one are nobody's.
: >empty
pack empty source
truncate -s 16M blank
pack blank source

# Root does not fill a file whose owner, or anybody else, could read what it packs: --force makes the file anew.
publish() {
    mkdatasetfs --progress none "${@:2}" "$1" source
}
replace() {
    datasetfsctl member replace --progress none "${@:2}" both.a 1 "$1"
}
if is_root; then
    mkdir sticky
    chmod 1777 sticky
    pack both.a,both.b source --protect mirror:2
    while read -r owner mode verb; do
        file=sticky/$verb.$owner.$mode
        : >"$file"
        chmod "$mode" "$file"
        chown "$owner:$owner" "$file"
        before=$(stat -c '%u:%g %a %s' "$file")
        pattern="it belongs to user $owner and has mode 0$mode, so others could read and change what root packs"
        assert_fails 1 "$pattern" $verb "$file"
        assert_eq "$file afterwards" "$(stat -c '%u:%g %a %s' "$file")" "$before"
        $verb "$file" --force >/dev/null || fail "$verb --force over '$file'"
        assert_eq "whose '$file' is" "$(stat -c '%u:%g %a' "$file")" "0:0 600"
    done <<'END'
65534 666 publish
65534 600 publish
0 662 publish
0 620 publish
65534 666 replace
END
    datasetfsctl verify "both.a,$file" >/dev/null || fail "verify after --force of a member"
    : >sticky/two
    chown 65534 sticky/two
    assert_fails 1 "volume 'sticky/one,sticky/two': 'sticky/two': it belongs to user 65534" \
        publish sticky/one,sticky/two
    [ ! -e sticky/one ] || fail "a refused publisher leaves a file"

    # A file that is a volume keeps what it has, and so does one that root prepared for readers.
    pack theirs source
    chown 65534:65534 theirs
    chmod 664 theirs
    publish theirs --label v2 >/dev/null || fail "publish into another's volume"
    publish theirs --format >/dev/null || fail "--format of another's volume"
    assert_eq "whose volume it is" "$(stat -c '%u:%g %a' theirs)" "65534:65534 664"
    : >readable
    chmod 644 readable
    pack readable source
    assert_eq "mode of a file for readers" "$(stat -c %a readable)" 644
fi

# A damaged volume of ours is not silently replaced.
cp blank damaged
for slot in 0 1 2 3 4 5 6 7; do
    printf '\377\377' | dd of=damaged bs=1 seek=$((slot * 65536 + 100)) conv=notrunc status=none
done
refused damaged "damaged"

# When the newest slot is damaged that is said, by who reads and who writes, until it is written again.
pack torn source --label one
pack torn source --label two --no-current
pack torn source --label three
cp torn whole
printf '\377\377' | dd of=torn bs=1 seek=$((3 * 65536 + 100)) conv=notrunc status=none
doubt="volume 'torn': superblock slot 3 is damaged or cannot be read and may have been the newest, "
doubt+="going on from sequence 2"
datasetfsctl list --json torn >torn.json 2>torn.err || fail "a torn slot hides the volume"
assert_eq "versions" "$(json versions.0.label torn.json)" one
assert_eq "the line of a reader" "$(cat torn.err)" "datasetfsctl: $doubt"
cp torn edited
datasetfsctl current edited two >/dev/null 2>torn.err || fail "current: $(cat torn.err)"
assert_eq "the line of an edit" "$(cat torn.err)" "datasetfsctl: ${doubt/torn/edited}"
before=$(hash_of torn)
! datasetfsctl compact --give-back torn 2>torn.err || fail "what the torn slot refers to was given back"
assert_eq "the first line of compact" "$(head -n 1 torn.err)" "datasetfsctl: $doubt"
assert_contains "the second line" "$(sed 1d torn.err)" "would punch holes into what superblock slot 3 refers to"
assert_eq "the volume that was to give back" "$(hash_of torn)" "$before"
if (need_fuse) >/dev/null; then
    mount_volume torn torn.mnt
    unmount torn.mnt
    assert_contains "the line of a mount" "$(cat daemon.log)" "datasetfs: ${doubt/torn/$PWD/torn}"
fi
mkdatasetfs --progress none --label again torn source >/dev/null 2>torn.err || fail "publish: $(cat torn.err)"
assert_eq "the line of a publisher" "$(cat torn.err)" "mkdatasetfs: $doubt"
for volume in torn edited whole; do
    datasetfsctl list $volume >/dev/null 2>torn.err
    assert_eq "lines about $volume" "$(cat torn.err)" ""
done

# Not a file or device.
mkfifo fifo
assert_fails 1 "fifo" timeout 200 mkdatasetfs --progress none fifo source

if can_loop && can_mount; then
    truncate -s 64M disk
    loop_device disk
    mkfs.ext4 -q -F "$LOOP"
    refused "$LOOP" "ext4"
    mkdir mnt
    mount "$LOOP" mnt
    assert_fails 1 "mounted" mkdatasetfs --progress none "$LOOP" source
    umount mnt
    mount "$LOOP" mnt
    rc=0
    mkdatasetfs --progress none --force "$LOOP" source 2>force.err || rc=$?
    [ $rc = 1 ] || fail "--force overwrites a mounted filesystem"
    umount mnt
    pack "$LOOP" source --force
    assert_eq "blkid" "$(datasetfsctl list --json "$LOOP" | json block_device)" true
    # A partition table is foreign, too.
    wipefs -aq "$LOOP"
    dd if=/dev/zero of="$LOOP" bs=1M count=2 status=none
    printf 'label: gpt\nsize=10M\n' | sfdisk -q --no-reread "$LOOP" >/dev/null 2>&1 || fail "sfdisk"
    refused "$LOOP" "gpt"
else
    say "no loop devices: devices were not tried"
fi
