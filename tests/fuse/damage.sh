#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon channels in=asan,gcc:ring
# A flipped byte in a file: EIO for exactly that chunk and never other bytes; the log names file, chunk and place; the
# rest of the file and all other files stay readable; verify finds it.
. "$(dirname "$0")/../lib/common.sh"
need_fuse

mkdir -p source/sub
head -c 700000 /dev/urandom >"source/sub/large file"
for i in {1..200}; do echo "line $i of a text that can be compressed well, again and again"; done >source/text
head -c 3000 /dev/urandom >source/small
head -c 200000 /dev/urandom >source/other

# damage MODE FILE CHUNK: packs, spoils one byte of the file's chunk, mounts
damage() {
    pack volume source --compress "$1" --format
    datasetfsctl stat --json volume "$2" | python3 "$LIB/chunks.py" >chunks
    read -r _ _ member offset stored < <(sed -n "$(($3 + 1))p" chunks)
    [ -n "${offset:-}" ] || fail "'$2' has no chunk $3 on the volume"
    spoil volume $((offset + stored / 2))
    : >daemon.log
    mount_volume volume mnt
}

for io in uring threads; do
    say "raw, io=$io"
    damage none "sub/large file" 2
    unmount mnt
    : >daemon.log
    mount_volume volume mnt -o io=$io
    python3 - source mnt "$((128 << 10))" <<'END' || fail "io=$io"
import errno, os, sys
source, mount, chunk = sys.argv[1], sys.argv[2], int(sys.argv[3])
bad = 2
name = "sub/large file"
expected = open(f"{source}/{name}", "rb").read()
fd = os.open(f"{mount}/{name}", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for number in range((len(expected) + chunk - 1) // chunk):
    for offset in (number * chunk, number * chunk + 50000):
        if offset >= len(expected):
            continue
        want = expected[offset:min(offset + 4096, (number + 1) * chunk)]
        try:
            found = os.pread(fd, len(want), offset)
        except OSError as error:
            if number != bad or error.errno != errno.EIO:
                sys.exit(f"fail: chunk {number} at {offset}: {error}")
            continue
        if number == bad:
            sys.exit(f"fail: the damaged chunk {number} at {offset} gave {len(found)} bytes, right: {found == want}")
        if found != want:
            sys.exit(f"fail: wrong bytes in chunk {number} at {offset}")
os.close(fd)
# A whole read ends with an error, not with a short file that looks whole.
try:
    got = open(f"{mount}/{name}", "rb").read()
    sys.exit(f"fail: a read over the damage gave {len(got)} bytes and no error")
except OSError as error:
    if error.errno != errno.EIO:
        sys.exit(f"fail: {error}")
END
    for file in text small other; do
        cmp source/$file mnt/$file || fail "'$file' is not as it was"
    done
    assert_contains "the log" "$(cat daemon.log)" "sub/large file' failed"
    for word in "chunk=" "member=$member" "offset=$offset"; do
        assert_contains "the log" "$(cat daemon.log)" "$word"
    done
    [ "$(stats mnt checksum_failures)" -ge 1 ] || fail "no checksum failure was counted"
    [ "$(stats mnt retries)" -ge 1 ] || fail "no second read was counted"
    [ "$(stats mnt read_failures)" -ge 1 ] || fail "no failed read was counted"
    unmount mnt
    exits 1 datasetfsctl verify volume >verify.log 2>&1
    assert_contains "verify" "$(cat verify.log)" "damaged 'sub/large file'"
    assert_contains "verify" "$(cat verify.log)" "offset=$offset"
done

say "compressed"
damage zstd text 0
if cat mnt/text >out 2>cat.err; then fail "a damaged frame gave bytes"; fi
assert_contains "cat" "$(cat cat.err)" "Input/output error"
[ ! -s out ] || fail "bytes came with the error"
cmp source/small mnt/small || fail "'small' is not as it was"
assert_contains "the log" "$(cat daemon.log)" "text' failed"
unmount mnt

say "a small file among small files"
damage none small 0
if cat mnt/small >out 2>cat.err; then fail "a damaged small file gave bytes"; fi
assert_contains "cat" "$(cat cat.err)" "Input/output error"
cmp source/text mnt/text || fail "'text' is not as it was"
unmount mnt
