#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=asan,gcc:ring timeout=300
# datasetfsctl warm: what it was told to is read from the cache from then on, and it says how much that is, also where
# there is no room for all of it.
. "$DATASETFS_SOURCE/tests/lib/cache.sh"
need_fuse

mkdir -p source/{train/{cat,dog},val,large}
python3 - "$SEED" <<'END'
import random, sys
random.seed(int(sys.argv[1]))
for i in range(300):  # of one chunk, some of them compressible, and of several
    size = random.choice((600, 6000, 20000, 100000, 130000, 131072, 131073, 300000)) + random.randrange(900)
    data = random.randbytes(size) if i % 3 else (random.randbytes(500) * 700)[:size]
    folder = ("train/cat", "train/dog", "val")[i % 3]
    open(f"source/{folder}/{i}", "wb").write(data)
open("source/val/empty", "wb").close()
open("source/val/tiny", "wb").write(b"in the index")
open("source/large/file", "wb").write(random.randbytes(3 << 20))
END
ln -s train/cat source/link
pack volume source --compress zstd --label v1
cp -al source small # what a cache may have
rm -r small/large small/link
PLAIN=readahead=off,prefetch=off

# fresh [OPTIONS]: a mount with an empty cache
fresh() {
    cache_folder cache
    mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M${1:+,$1}"
}

# warm WORD…: as JSON, of which told prints a field
warm() {
    datasetfsctl warm --json "$@" >warm.json || fail "warm $*"
    cat warm.json
}
told() {
    json "$1" <warm.json
}

# reads_are SOURCE COUNT: of the volume in an epoch, and a few more when the drive of the cache is busy
reads_are() {
    epoch_from_cache mnt "$1" $(($2 + 6))
    [ "$READS" -ge "$2" ] || fail "the volume was read $READS times, expected $2"
}

# bytes_of FOLDER…: of the contents of its files
bytes_of() {
    find "$@" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }'
}

say "mistakes"
mkdir -p mnt
cache_folder cache
assert_fails 2 "mount option 'cache_fill': 'all' is neither 'reads' nor 'warm'" \
    datasetfs -o "cache=$PWD/cache,cache_fill=all" volume mnt
assert_fails 2 "mount option 'cache_fill' needs 'cache', the folder" datasetfs -o cache_fill=warm volume mnt
assert_fails 1 "cannot warm '.': not on a datasetfs mount" datasetfsctl warm .
mount_volume volume mnt -o "$PLAIN"
assert_fails 1 "cannot warm 'mnt': the mount has no cache, mount it with -o cache=DIR" datasetfsctl warm mnt
assert_eq "cache_fill" "$(stats mnt options.cache_fill)" reads
unmount mnt
fresh
assert_fails 1 "'train/bird': No such file or directory" datasetfsctl warm mnt train/cat train/bird
assert_fails 1 "'link' is a symbolic link: name its target" datasetfsctl warm mnt link
assert_fails 1 "'../source' leads out of the mount" datasetfsctl warm mnt ../source
assert_fails 1 "'.datasetfs/control' is a control file of the mount" datasetfsctl warm mnt .datasetfs/control
assert_fails 1 "list 'nowhere': open: No such file or directory" datasetfsctl warm --from nowhere mnt
assert_fails 1 "list '-': it is empty" datasetfsctl warm --from - mnt
printf '\n\n' >blank
assert_fails 1 "list 'blank': it names nothing" datasetfsctl warm --from blank mnt
assert_eq "reads for nothing" "$(stats mnt device_reads)" 0
if is_root; then
    chmod 755 .
    assert_fails 1 "cannot warm 'mnt'" as_user "$(command -v datasetfsctl)" warm mnt
fi

say "all"
datasetfsctl warm mnt >said
cat said
assert_contains "what it says" "$(cat said)" "'mnt': version 'v1': 300 files with "
assert_contains "what it says" "$(cat said)" \
    " are in the cache, 2 files with 12 bytes are in the index, 1 file with 3.00 MiB is larger than 1 MiB and never "
LEGS=$(stats mnt device_reads)
[ "$LEGS" -le 100 ] || fail "$LEGS reads for 300 files that lie side by side"
reads_are small 0
assert_eq "what the cache dropped" "$(cached mnt dropped)" 0
warm mnt
assert_eq "reads to warm it again" "$(stats mnt device_reads)" "$LEGS"
assert_eq "its end" "$(told end)" "done"
assert_eq "files that it read" "$(told read.files)" 0
assert_eq "files in the cache" "$(told cached.files)" 300
assert_eq "their bytes" "$(told cached.bytes)" $(($(bytes_of small) - 12))
assert_eq "files in the index" "$(told in_index.files)" 2
assert_eq "large files" "$(told too_large.files) $(told too_large.bytes)" "1 3145728"
assert_eq "files that are missing" "$(told missing.files)" 0
without_trouble mnt
unmount mnt

say "after another mount"
mount_volume volume mnt -o "$PLAIN,cache=$PWD/cache,cache_size=80M"
warm mnt /
assert_eq "files that it read" "$(told read.files)" 0
reads_are small 0
unmount mnt

say "parts, by words and by lists"
fresh cache_fill=warm
assert_eq "cache_fill" "$(stats mnt options.cache_fill)" warm
warm mnt /train/cat/ val/2 train/cat
assert_eq "files in the cache" "$(told cached.files)" 101
assert_eq "their bytes" "$(told cached.bytes)" "$(bytes_of small/train/cat small/val/2)"
(cd small && find train/dog -type f) >list
head -n 3 list | sed 's/$/\r/' | datasetfsctl warm --from - mnt | grep -q ": 3 files with " || fail "three lines"
tr '\n' '\0' <list >list.nul
warm --from list.nul mnt train/cat
assert_eq "files in the cache" "$(told cached.files)" 200
assert_eq "files that it read" "$(told read.files)" 97
FILLS=$(cached mnt fills)
reads_are small 99 # val
reads_are small 99 # readers do not fill it
assert_eq "chunks that readers filled" "$(cached mnt fills)" "$FILLS"
without_trouble mnt
unmount mnt

say "a cache that holds half"
rm -rf half && mkdir half
python3 - "$SEED" <<'END'
import random, sys
random.seed(int(sys.argv[1]))
for i in range(600):
    open(f"half/{i}", "wb").write(random.randbytes(61440))
END
pack half.vol half --compress none --label v1
cache_folder cache
mount_volume half.vol mnt -o "$PLAIN,cache=$PWD/cache,cache_size=20M"
warm mnt
assert_eq "its end" "$(told end)" full
assert_eq "all files" $(($(told cached.files) + $(told missing.files))) 600
assert_eq "all bytes" $(($(told cached.bytes) + $(told missing.bytes))) $((600 * 61440))
assert_eq "the cache" "$(cached mnt used)" "$(cached mnt size)"
[ "$(told cached.bytes)" -ge $(($(cached mnt size) * 95 / 100)) ] || fail "$(told cached.bytes) of $(cached mnt size)"
MISSING=$(told missing.files)
[ "$(told read.files)" -le $((600 - MISSING + 300)) ] || fail "$(told read.files) files were read"
for _ in 1 2; do
    reads_are half "$MISSING"
done
datasetfsctl warm mnt >said
assert_contains "what it says" "$(cat said)" ", $MISSING files with $(told missing.bytes |
    awk '{ printf "%.1f MiB", $1 / 1048576 }') did not fit"
without_trouble mnt
unmount mnt
