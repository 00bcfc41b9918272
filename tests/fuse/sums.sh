#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon channels in=asan,gcc:ring,gcc:threads
# A digest and SHA-256 sums: bytes exchanged against others with the same XXH3-64 are not served, whoever reads them and
# however; with XXH3-64 sums they are, and the log says what the digest is worth.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

mkdir source
tree random source/tree --seed 5 --files 60
"$LIB/collision.py" source/file other 8192
"$LIB/collision.py" source/large other-large 3000000 $((4096 * 100))
for i in {1..40}; do head -c $((i * 900)) /dev/urandom >"source/near $i"; done

# place VOLUME FILE CHUNK: where its bytes lie
place() {
    datasetfsctl stat --json "$1" "$2" | python3 "$LIB/chunks.py" | sed -n "$(($3 + 1))p" | cut -d ' ' -f 4
}

# exchange VOLUME
exchange() {
    dd if=other of="$1" bs=4096 seek="$(place "$1" file 0)" oflag=seek_bytes conv=notrunc status=none
    dd if=other-large of="$1" bs=4096 skip=$((131072 * 3)) count=32 iflag=skip_bytes \
        seek="$(place "$1" large 3)" oflag=seek_bytes conv=notrunc status=none
}

# pinned VOLUME: mounted with its digest
pinned() {
    : >daemon.log
    mount_volume "$1" mnt -o "digest=$(datasetfsctl list --json "$1" | json versions.0.digest)"
}

# part FILE OFFSET LENGTH: of a file of the mount, without read-ahead
part() {
    python3 - "$@" <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
sys.stdout.buffer.write(os.pread(fd, int(sys.argv[3]), int(sys.argv[2])))
END
}

# refused NAME COMMAND…: it fails, and does not give the other bytes
refused() {
    local name=$1
    shift
    if "$@" >out 2>err; then fail "$name of exchanged bytes: $(head -c 200 out | od -c | head -n 3)"; fi
    grep -qE "Input/output error|EIO|Errno 5|chunk sum" err out || fail "$name: $(cat err)"
}

pack weak source --sums xxh3-64
pack strong source --sums sha256

say "nothing is wrong"
pinned strong
part mnt/large 400000 100000 | cmp - <(tail -c +400001 source/large | head -c 100000) || fail "a part of a large file"
[ "$(stats mnt block_checksum_reads)" -ge 1 ] || fail "block checksums were not used"
assert_eq "fallbacks" "$(stats mnt block_checksum_fallbacks)" 0
compare source mnt || fail "the trees differ"
assert_eq "kind in version" "$(json sums mnt/.datasetfs/version)" sha256
assert_eq "kind in stats.json" "$(stats mnt generations.0.sums)" sha256
assert_contains "status" "$(datasetfsctl status mnt)" "sha256"
unmount mnt
grep -q "find accidents" daemon.log && fail "the log warns of sums that cannot be forged"

say "exchanged, XXH3-64: as it is, and said"
exchange weak
pinned weak
cmp mnt/file other || fail "the file is not what was exchanged"
part mnt/large 409600 4096 | cmp - <(tail -c +409601 other-large | head -c 4096) || fail "the block is another one"
assert_eq "lines about the digest" "$(grep -c "sums of contents (xxh3-64) find accidents" daemon.log)" 1
unmount mnt

say "exchanged, SHA-256"
exchange strong
pinned strong
refused "read" cat mnt/file
refused "a part of a large file" part mnt/large 409600 4096
refused "a large file" cat mnt/large
refused "cp" cp mnt/file copy
cmp -s copy other && fail "cp made the other file"
part mnt/large 0 4096 | cmp - <(head -c 4096 source/large) || fail "the other parts of the large file"
compare source/tree mnt/tree || fail "other files"
announce_file mnt file
refused "a file that was read ahead" cat mnt/file
if [ -z "${DATASETFS_SANITIZER:-}" ]; then # which python3 would have to load first
    export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python
    refused "Python's read()" python3 -c 'import datasetfs; datasetfs.read("mnt/file")'
    refused "Python's Reader" python3 -c 'import datasetfs; datasetfs.Reader("mnt").read("file")'
    refused "Python on the volume" python3 -c 'import datasetfs; datasetfs.Reader("strong").read("file")'
fi
if [ -e "$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so" ]; then
    touch report
    DATASETFS_REPORT=$PWD/report datasetfs-run cat mnt/near* >near || fail "datasetfs-run cat"
    cat source/near* | cmp - near || fail "what datasetfs-run reads"
    [ "$(served report)" = 40 ] || fail "datasetfs-run served $(served report) files"
    refused "datasetfs-run" datasetfs-run cat mnt/file
    refused "datasetfs-run, a part" datasetfs-run tail -c +409601 mnt/large
fi
for way in direct mount; do
    echo "contents file" | WAY=$way "$DATASETFS_BUILD/tests/library/library-way" mnt session >out || fail "session"
    grep -qE "^(EBADMSG|EIO) " out || fail "the library, $way: $(cat out)"
done
unmount mnt
