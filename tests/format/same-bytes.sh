#!/bin/bash
# SPDX-License-Identifier: MIT
# The same source, options and UUID give the same bytes in every release: whole volumes against stored digests, after
# publishing with many sets of options, publishing again, removing and compacting.
#
# The digests are those of commit a5dacf7; that of long holes is of commit 7283daf, as a5dacf7 kept no lists of them,
# and those of random order and of SHA-256 are of the commits that made them.
# Another digest is a fault, unless somebody decided that other bytes are to be written and the format page allows
# them: then the new one, which is printed, is stored here.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

if [ "$(id -u)" != 0 ]; then
    unshare --map-root-user true 2>/dev/null || skip "owners are in the bytes: needs root or a user namespace"
    exec unshare --map-root-user "$0"
fi

declare -A stored=(
    [default]=58769b436e2f4626777ff44bb4e76657eb9639a332993286b35e42119aa3f54a
    [small-chunks]=acf53b5eb127023574d32e66fedc63409acaa47edbd4f862ba83bb461c10af04
    [large-chunks]=ba5d6e1555410f7e1f6787bad54d6a1f2b0f27c7d0a8a56c53b7c6302485776c
    [filtered]=5d895efc53c5546c7b1c201f315c3691d31acbcdeeada4c996d4df1a8be3b827
    [listed]=e7248d6c1c1c0ebf066f49fd29e6d2a752acff1d496249b0f925ef68ee5875bc
    [random]=3dfb626e383a12ca1a4d164be97b86fb848aab2c85f651a1f09740ab418a8143
    [zstd]=040732309f423976c9d897afb3d2dc6ef54cf4d5d4db3c0a58daa80c5cfd18d2
    [zstd-9]=2e82fddb5a3fa5c4651e04b9f78665468fffb9eb6b892476a4b12b1334df2885
    [kinds]=3cf9a3ab9e8c1696bca501fa42732b1b92b3c841c2005be4b8b6c56a139142d3
    [auto]=4804aebfa1f845de651fdf23bf4c6652095c3b01a43cd2a999e7489fe9635a64
    [xattrs]=4890530a335a392b941cbb5b24bef774fb6da1c129d5d5f3883f14acfc56196c
    [owners]=e97d362abbad0daa95c4705254201f51d7743e0f3915b69082ca1cfdce2380b9
    [long-holes]=d69be9225010e6e9a50193058405118a389bb03ba7923e42083ca25e06c3719b
    [sha256]=d774c63fb8e81cf5c7a2847fe9052b7e7b8be4e0cf5d5d8a733d23f4b6cabf3d
    [one]=c4efef27d1ce215a67de06bbc500faf999379a0f034bdb8d33b817433a8d3c29
    [two]=150729dd5bb47ccb8d04f8c5f0d4c575addc1e38d248183455a4cd28f66ad598
    [three]=2f298560559850d16b89b11e3f4a64ce43b7f182a744dfb226e46392ca76d413
    [current]=8813caddff61e5d671ce51d81ef973ab4f140ee3755624eabce520e45aadc5e4
    [removed]=955ecfff7024a402fc5190c0483f7599f3816a76df6ddd8627ae9dcd92ea1938
    [compacted]=a6560ebdcba28a6d88146a412f4dff456e0a9bbfc832cd508cc66f84de6c69ae
    [four]=b97842b1564571194d659099cd2295224950c9928015f82c74f6ef9584226141
    [device]=d56944a74184e7bb238cfe841a44285de5ebf2bb1182fc407fa4d75c1bf765de
)
export SOURCE_DATE_EPOCH=1700000000
uuid=01234567-89ab-cdef-0123-456789abcdef
differ=()

# same NAME DIGEST
same() {
    [ "$2" = "${stored[$1]:-}" ] || { echo "    [$1]=$2"; differ+=("$1"); }
}

# packed NAME SOURCE OPTIONS…: on a fresh volume
packed() {
    pack volume "$2" --uuid $uuid "${@:3}"
    same "$1" "$(hash_of volume)"
    rm volume
}

# step NAME: of a volume whose versions remember their sources
step() {
    same "$1" "$(python3 "$LIB/without_source.py" volume)"
}

fixed_tree base tree || exit 77
tree_is_old() { [ $SECONDS -ge $((made + 4)) ]; }
made=$SECONDS

packed default tree
packed small-chunks tree --chunk-size 4K --exclude /holes/only # which has 1280 such chunks: a long hole
packed large-chunks tree --chunk-size 1M --segment-size 1M
packed filtered tree --exclude 'holes/' --include 'text/*7*' --exclude 'text/*' --label a.label
(cd tree && find small text equal | LC_ALL=C sort) >list
packed random tree --order random:7
packed listed tree --from-list list --segment-size 1G
packed sha256 tree --sums sha256

# Other releases of the library compress to other bytes: 1.5.6 does with level 9.
if [ "$(pkg-config --modversion libzstd)" = 1.5.4 ]; then
    packed zstd tree --compress zstd
    packed zstd-9 tree --compress zstd:9 --chunk-size 64K
    fixed_tree kinds kinds
    packed kinds kinds --compress zstd
    packed auto kinds --compress auto
else
    say "not libzstd 1.5.4: compressed volumes are not compared"
fi

if fixed_tree xattrs attributes; then packed xattrs attributes; fi
if fixed_tree owners owners; then packed owners owners; fi
if fixed_tree long-holes holes; then packed long-holes holes; fi

# The first version remembers nothing of its source, as it was made with --uuid. The others do: inode numbers and
# times of change, which differ from machine to machine, so step leaves them out.
wait_for 10 tree_is_old
pack volume tree --uuid $uuid --segment-size 1M --label one
step one
fixed_tree changed tree
pack volume tree --label two --no-current
step two
fixed_tree grown tree
mkdatasetfs --progress none --json --trust-mtime=two --label three volume tree >three.json || fail "publish of three"
[ "$(json unchanged_files three.json)" -gt 100 ] || fail "--trust-mtime trusts nothing: $(cat three.json)"
step three
datasetfsctl current volume two >/dev/null
step current
datasetfsctl remove volume one >/dev/null 2>&1
step removed
[ "$(datasetfsctl compact --json --below 95 volume 2>compact.err | json segments)" -gt 0 ] || fail "nothing to compact"
step compacted
pack volume tree --label four --chunk-size 64K
step four
datasetfsctl verify volume >verify.out || fail "verify: $(cat verify.out)"

# Sectors of either size are written alike.
for sector in 512 4096; do
    truncate -s 64M disk$sector
    LOOP=
    ! can_loop || LOOP=$(losetup --find --show --sector-size $sector "$PWD/disk$sector" 2>/dev/null) || LOOP=
    [ -n "$LOOP" ] || { say "no loop device with sectors of $sector: not compared"; continue; }
    at_exit loop_end "$LOOP" "$(loop_file "$LOOP")"
    pack "$LOOP" tree --uuid $uuid
    same device "$(hash_of "$LOOP")"
done
[ ${#differ[@]} = 0 ] || fail "other bytes than those that are stored: ${differ[*]}"
