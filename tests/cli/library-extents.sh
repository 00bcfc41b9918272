#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# dsfs_extents() tells where the bytes of files lie: dd reads them there, and they are the source's; dsfs_verify() tells
# them from others, and decompresses.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/library.sh"
need_command zstd

mkdir source sparse
python3 - <<'END'
import random
rng = random.Random(1)
def file(name, content):
    with open("source/" + name, "wb") as out:
        out.write(content)
file("empty", b"")
file("tiny", b"in the index")
file("small", rng.randbytes(3000))
file("odd", rng.randbytes(8191))
file("text", b"the same line again and again\n" * 3000)
file("chunks", rng.randbytes(5 * 131072 + 17))
file("mixed", b"".join(rng.randbytes(131072) if i % 3 else b"words and words " * 8192 for i in range(13)))
with open("source/holes", "wb") as out:
    out.write(rng.randbytes(131072))
    out.seek(7 * 131072)
    out.write(rng.randbytes(1000))
    out.truncate(12 * 131072 + 5)
with open("sparse/file", "wb") as out:
    out.write(rng.randbytes(200000))
    out.seek(2000 * 4096)
    out.write(rng.randbytes(1200000))
END

# by_dd VOLUME FILE SOURCE: the file, of what dd reads; zstd and sparse places filled in
by_dd() {
    local file_offset length offset stored sum member codec flags kind
    : >bytes
    library_tree "$1" extents "$2" >extents
    while read -r file_offset length offset stored sum member codec flags kind; do
        assert_eq "member" "$member" 0
        if [ "$flags" = 1 ]; then
            assert_eq "bytes of a hole" "$stored $offset ${sum//0/} $kind" "0 0  1"
            truncate -s $((file_offset + length)) bytes
            continue
        fi
        assert_eq "flags" "$flags" 0
        dd if="$1" of=piece bs=64K iflag=skip_bytes,count_bytes skip="$offset" count="$stored" status=none
        [ "$codec" = 0 ] || { mv piece packed && zstd -qdf packed -o piece; }
        assert_eq "bytes of a chunk" "$(stat -c %s piece)" "$length"
        cat piece >>bytes
    done <extents
    cmp bytes "$3/$2" || fail "what dd read of $2 in $1"
}

export VOLUME
for mode in none zstd auto; do
    VOLUME=$mode.dsfs
    pack $VOLUME source --compress $mode
    for file in small odd text chunks mixed holes; do
        by_dd $VOLUME $file source
        library_tree $VOLUME verify $file >bytes || fail "verify $file"
        cmp bytes source/$file || fail "what was verified of $file"
    done
    assert_eq "extents of an empty file" "$(library_tree $VOLUME extents empty)" ""
    assert_eq "extents of a file in the index" "$(library_tree $VOLUME extents tiny | cut -d ' ' -f 1-4,6-)" \
        "0 12 0 12 0 0 2 1"
done
codecs=$(library_tree zstd.dsfs extents mixed | cut -d ' ' -f 7 | sort -u | paste -sd ' ')
assert_eq "codecs of a file of which a part can be compressed" "$codecs" "0 1"

say "a long hole is one extent, also in the middle"
pack sparse.dsfs sparse --chunk-size 4K
by_dd sparse.dsfs file sparse
assert_eq "long holes" "$(library_tree sparse.dsfs extents file | awk '$8 == 1 && $2 > 4000000' | wc -l)" 1

say "another file's bytes are noticed"
cp none.dsfs other.dsfs
read -r _ _ offset _ < <(library_tree none.dsfs extents odd)
printf x | dd of=other.dsfs bs=1 seek=$((offset + 4000)) conv=notrunc status=none
VOLUME=other.dsfs assert_fails 1 "EBADMSG: chunk sum " library_tree none.dsfs verify odd
