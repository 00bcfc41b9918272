#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# --sums: what somebody may exchange against other bytes with the same XXH3-64 is told by SHA-256, by everything that
# reads a volume; versions of both kinds share a volume, and neither is made of the other's chunks.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/library.sh"

mkdir source
"$LIB/collision.py" source/file other 8192
"$LIB/collision.py" source/large other-large 3000000 $((4096 * 100))
echo "in the index" >source/tiny

# place VOLUME FILE CHUNK: where its bytes lie
place() {
    datasetfsctl stat --json "$1" "$2" | python3 "$LIB/chunks.py" | sed -n "$(($3 + 1))p" | cut -d ' ' -f 4
}

# exchange VOLUME: the content of both files, byte by byte
exchange() {
    dd if=other of="$1" bs=4096 seek="$(place "$1" file 0)" oflag=seek_bytes conv=notrunc status=none
    dd if=other-large of="$1" bs=4096 skip=$((131072 * 3)) count=$((131072 / 4096)) iflag=skip_bytes \
        seek="$(place "$1" large 3)" oflag=seek_bytes conv=notrunc status=none
}

# digest VOLUME [NUMBER]
digest() {
    datasetfsctl list --json "$1" | json "versions.${2:-0}.digest"
}

assert_fails 2 "'sha1' is not xxh3-64 or sha256" mkdatasetfs --sums sha1 volume source
pack weak source --sums xxh3-64
pack strong source --sums sha256
assert_eq "kinds" "$(datasetfsctl list --json weak | json versions.0.sums) $(datasetfsctl list --json strong |
    json versions.0.sums)" "xxh3-64 sha256"
assert_contains "list" "$(datasetfsctl list strong | tr -s ' ')" " DIGEST"
assert_contains "describe" "$(datasetfsctl describe strong)" ", sums sha256)"
assert_eq "the dump" "$(datasetfsctl dump strong | sed -n 2p)" "chunk 131072 sha256"
assert_eq "the sum of a chunk of one block" "$(datasetfsctl stat --json strong file | json chunks.0.sum)" \
    "$(sha256sum <source/file | cut -c 1-64)"
assert_eq "the sum of a chunk of eight blocks" "$(datasetfsctl stat --json strong large | json chunks.0.sum)" \
    "$(python3 -c '
import hashlib
content = open("source/large", "rb").read(131072)
blocks = [hashlib.sha256(content[i:i + 16384]).digest() for i in range(0, len(content), 16384)]
print(hashlib.sha256(b"".join(blocks)).hexdigest())')"

say "other bytes with the same XXH3-64"
cmp -s source/file other && fail "there is nothing to exchange"
for volume in weak strong; do
    before=$(digest $volume)
    cp $volume good-$volume
    exchange $volume
    assert_eq "the digest in the catalogue" "$(digest $volume)" "$before"
done
datasetfsctl verify weak >out 2>&1 || fail "verify tells XXH3-64 sums that are the same: $(cat out)"
datasetfsctl cat weak file | cmp - other || fail "cat of the exchanged file"
exits 1 datasetfsctl verify strong >out 2>&1
assert_contains "verify" "$(cat out)" "damaged 'file'"
assert_contains "verify" "$(cat out)" "damaged 'large'"

enough_for_smoke
VOLUME=weak library_tree weak verify file >/dev/null || fail "dsfs_verify() of the exchanged file"
# refused NAME COMMAND…: ends with a failure, and gives nothing of what was exchanged
refused() {
    local name=$1 rc=0
    shift
    "$@" >out 2>err || rc=$?
    [ $rc -ne 0 ] || fail "$name of a volume with other bytes: $(head -c 300 out)"
    grep -aqE "chunk sum|wrong|damaged|EBADMSG|Input/output" err out || fail "$name: $(cat err)"
}
refused cat datasetfsctl cat strong file
cmp -s out other && fail "cat gives the other bytes"
mkdir extracted
refused extract datasetfsctl extract -C extracted strong
cmp -s extracted/file other && fail "extract gives the other bytes"
refused "export tar" datasetfsctl export tar strong v1 -
export VOLUME=strong
refused dsfs_verify library_tree strong verify file
for command in sums parts queue; do
    DIGEST=$(digest strong) "$DATASETFS_BUILD/tests/library/library-way" strong $command >out || fail "$command"
    grep -q "^file EBADMSG" out || fail "the library's $command: $(cat out)"
done
refused scrub datasetfsctl scrub strong
assert_contains "scrub" "$(cat out)" "lost chunk"

say "a copy that was exchanged is the wrong one"
mkdir pair
for member in a b; do
    pack pair/a,pair/b source --format --protect mirror:2 --sums sha256
    python3 - pair/$member <<'END'
import sys
one, other = open("source/file", "rb").read(), open("other", "rb").read()
with open(sys.argv[1], "r+b") as volume:
    content = volume.read()
    assert content.count(one) == 1
    volume.seek(content.index(one))
    volume.write(other)
END
    datasetfsctl member replace pair/a 0 pair/new >/dev/null 2>err || fail "member replace: $(cat err)"
    python3 -c 'import sys; sys.exit(open("source/file", "rb").read() not in open("pair/new", "rb").read())' ||
        fail "member replace copied the other bytes"
    rm pair/a
    mv pair/new pair/a
    datasetfsctl scrub --repair pair/a >out 2>err || fail "scrub --repair: $(cat out err)"
    grep -q "^repaired chunk" out || [ $member = a ] || fail "scrub mended nothing: $(cat out)"
    datasetfsctl verify pair/a >out 2>&1 || fail "verify of the mended pair: $(cat out)"
done

say "both kinds on a volume"
pack good-weak source --label second --sums sha256
pack good-weak source --label third
assert_eq "the kind without an option" "$(datasetfsctl list --json good-weak | json versions.2.sums)" sha256
assert_eq "the same content again" "$(digest good-weak 2)" "$(digest good-weak 1)"
assert_eq "on another volume" "$(digest good-weak 1)" "$(digest good-strong)"
[ "$(place good-weak file 0)" != "$(place good-strong file 0)" ] || fail "a chunk was taken from the other kind"
written=$(mkdatasetfs --json --label fourth good-weak source | json shared_bytes)
[ "$written" -ge 3000000 ] || fail "only $written bytes were shared within the kind"
assert_contains "trust across kinds" "$(mkdatasetfs --label fifth --sums xxh3-64 --trust-mtime good-weak source 2>&1)" \
    "every file is read: the sums of version 'fourth' are not of the kind xxh3-64, ignoring"
datasetfsctl verify good-weak >out 2>&1 || fail "verify of both kinds: $(cat out)"
for label in v1 second third fourth fifth; do
    mkdir tree
    datasetfsctl extract --version $label -C tree good-weak >/dev/null || fail "extract '$label'"
    diff -r source tree || fail "version '$label'"
    rm -r tree
done

say "compaction"
mkdir tree
for i in {1..60}; do head -c 90000 /dev/urandom >tree/$i; done
pack moved tree --label one --segment-size 1M --sums sha256 --order random
for i in {1..50}; do head -c 90000 /dev/urandom >tree/$i; done
pack moved tree --label two --compress zstd
datasetfsctl remove moved one >/dev/null 2>&1 || fail "remove"
places() {
    for i in {51..60}; do place moved $i 0; done
}
before=$(digest moved) where=$(places)
datasetfsctl compact moved >out || fail "compact: $(cat out)"
[ "$(places)" != "$where" ] || fail "nothing was moved: $(cat out)"
assert_eq "the digest after a compaction" "$(digest moved)" "$before"
datasetfsctl verify moved >out 2>&1 || fail "verify after a compaction: $(cat out)"
mkdir extracted/moved
datasetfsctl extract -C extracted/moved moved >/dev/null || fail "extract after a compaction"
diff -r tree extracted/moved || fail "the tree after a compaction"
