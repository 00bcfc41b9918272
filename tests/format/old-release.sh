#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A volume that an old release packed mounts and verifies, takes a publish, a removal and a compaction, and its
# versions stay what they were. The volume is old-release.dsfs.xz, which make-old-release made with the programs of
# commit a5dacf7.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
packed=$DATASETFS_SOURCE/tests/format/old-release.dsfs.xz

python3 -c '
import lzma, sys
sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' "$packed" >volume
assert_eq "the old volume" "$(hash_of volume)" 252dca7fadbe037163bbf5433e12038d968ed35954302dd973f26e39190f39d5
declare -A stored=(
    [one]=ca7014439b7bd66f79359cdbce694a118068bcff5b250a63c623799dcee85751
    [two]=38cc7059677d72df9843e768e4808ba04e7611256293a54d4c2bb122109f765a
    [three]=42299c53691a91fb0b10db9d1af7298659acb42bb997dbac634d98923e585e38
)

# The trees that were packed, for comparing; where they cannot be made or mounted, digests have to do.
trees=1 mounts=1
fixed_tree release-1 one && cp -a one two && fixed_tree release-2 two && cp -a two three &&
    fixed_tree release-3 three || trees=0
[ $trees = 1 ] && (need_fuse) || mounts=0
[ $mounts = 1 ] || say "only digests are compared"
mkdir new
cp "$packed" new/bytes
seq 30000 >new/text
[ $trees = 0 ] || cp two/sizes/1048576 new/known
ln -s bytes new/link

# clean LABEL…: these versions and no others are there, sound, and have the digests that they were published with.
# Compaction may change their order.
clean() {
    local label listed
    listed=$(datasetfsctl list --json volume | python3 -c '
import json, sys
for v in json.load(sys.stdin)["versions"]: print(v["label"], v["digest"][7:])' | sort)
    assert_eq "versions" "$listed" "$(for label; do echo "$label ${stored[$label]}"; done | sort)"
    datasetfsctl verify volume >verify.out || fail "verify: $(cat verify.out)"
    for label; do
        datasetfsctl dump volume "$label" >dump
        assert_eq "digest of '$label'" "$(hash_of dump)" "${stored[$label]}"
    done
}

# owners: of the packed trees are root's and others', those that an ordinary user makes are all his own
owners=()
[ "$(id -u)" = 0 ] || owners=(--ignore owner)

# mounted LABEL…: these versions, the first as the mount's own
mounted() {
    local label
    compare "$1" mnt "${owners[@]}"
    for label; do
        compare "$label" "mnt/.datasetfs/versions/$label" "${owners[@]}"
    done
}

clean one two three
assert_eq "the current version" "$(datasetfsctl list --json volume | json current)" two
if [ $mounts = 1 ]; then
    mount_volume volume mnt
    mounted two one three
fi

mkdatasetfs --progress none --json --trust-mtime --label new volume new >new.json || fail "publish"
pack other new --uuid 01d00000-0000-4000-8000-000000000002
datasetfsctl dump other >dump
stored[new]=$(hash_of dump)
[ $trees = 0 ] || assert_eq "bytes of 'known' that are shared" "$(json shared_bytes new.json)" "$(stat -c %s new/known)"
clean one two three new
if [ $mounts = 1 ]; then
    mounted two one three
    datasetfsctl switch mnt new >/dev/null
    mounted new one two three
    unmount mnt
fi

# The tree of 'three' once more: nothing of it is new.
if [ $trees = 1 ] && [ "$(id -u)" = 0 ]; then
    mkdatasetfs --progress none --json --label again volume three >again.json || fail "publish of what is there"
    assert_eq "bytes stored for what is there" "$(json stored_bytes again.json)" 0
    stored[again]=${stored[three]}
    clean one two three new again
    datasetfsctl current volume new >/dev/null
    datasetfsctl remove volume again >/dev/null 2>&1
fi

datasetfsctl remove volume one >/dev/null 2>&1
clean two three new
datasetfsctl compact --json --below 100 volume >compact.json 2>compact.err || fail "compact: $(cat compact.err)"
[ "$(json segments compact.json)" -gt 0 ] || fail "nothing was compacted"
clean two three new
if [ $mounts = 1 ]; then
    mount_volume volume mnt
    mounted new two three
    unmount mnt
fi
