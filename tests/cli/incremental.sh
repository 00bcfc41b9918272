#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A publish does not write content again that any version has on the volume, and each version holds the segments that
# it shares. Content of an earlier version that cannot be read, or that has impossible records, is written again.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"

# publish NAME OPTIONS…: its summary in NAME.json
publish() {
    mkdatasetfs --json --progress none "${@:2}" volume source >"$1.json" 2>"$1.err" || fail "$1: $(cat "$1.err")"
    [ ! -s "$1.err" ] || fail "$1 says: $(cat "$1.err")"
}

# at_most NAME FIELD BYTES
at_most() {
    [ "$(json "$2" "$1.json")" -le "$3" ] || fail "$1: $2 is $(json "$2" "$1.json"), expected at most $3"
}

python3 - <<'END'
import os, random
rng = random.Random(7)
for number in range(1000):
    os.makedirs("source/%d" % (number % 10), exist_ok=True)
    with open("source/%d/%d" % (number % 10, number), "wb") as out:
        out.write(rng.randbytes(rng.choice((60, 900, 4096, 20000, 60000))))
with open("source/large", "wb") as out:
    out.write(rng.randbytes(12 << 20))
with open("source/sparse", "wb") as out:
    out.write(rng.randbytes(300000))
    out.seek(3 << 20)
    out.write(rng.randbytes(500000))
    out.truncate(6 << 20)
END
publish first --label first
content=$(json content_bytes first.json)
index=$(json index_bytes first.json)
assert_eq "shared by the first version" "$(json shared_bytes first.json)" 0
[ "$(json read_bytes first.json)" -gt $((content / 2)) ] || fail "read $(json read_bytes first.json) of $content bytes"

# 1 % of the files, and some bytes of a large one.
for number in 3 103 203 303 403 503 603 703 803 903; do
    head -c 20000 /dev/urandom >source/3/$number
done
printf 'changed' | dd of=source/large bs=1 seek=7000000 conv=notrunc status=none
mv source/5 source/renamed
publish second --label second
at_most second written_bytes $((10 * 20480 + 9 * 131072 + 2 * index + 65536))
[ "$(json shared_bytes second.json)" -gt $((content * 4 / 5 - 6000000)) ] ||
    fail "shared $(json shared_bytes second.json) of $content bytes"

# Nothing changed: an index and nothing else. Another compression and chunk size share what they can.
publish third --label third
at_most third stored_bytes 0
publish frames --label frames --compress zstd
at_most frames stored_bytes 0
publish chunks --label chunks --chunk-size 64K
at_most chunks stored_bytes $((19 << 20))

# Content that only older versions have is shared with them.
mv source all
mkdir source
cp all/3/3 source/
publish little --label little
rm -r source
mv all source
publish again --label again
at_most again stored_bytes 0

# Every version is whole, and holds every segment that it uses.
datasetfsctl verify volume >verify.out || fail "verify: $(cat verify.out)"
datasetfsctl list --json volume >list.json
python3 - <<'END' || fail "segments of a version"
import json, sys
versions = {v["label"]: v for v in json.load(open("list.json"))["versions"]}
runs = [(s["offset"], s["offset"] + s["length"]) for s in versions["third"]["segments"]]
for label in versions:
    for index in versions[label]["index"]:
        mine = [(s["offset"], s["offset"] + s["length"]) for s in versions[label]["segments"]]
        if not any(a <= index["offset"] and index["offset"] + index["length"] <= b for a, b in mine):
            sys.exit(f"the index of {label} is outside its segments")
if runs[0][0] != 0:
    sys.exit(f"third does not hold the segment of the first version: {runs}")
END

# Damage in an earlier version: its content is stored once more, and the new version is clean.
offset=$(datasetfsctl stat --json volume large | json chunks.0.device_offset)
printf 'damage' | dd of=volume bs=1 seek="$offset" conv=notrunc status=none
publish healed --label healed
[ "$(json stored_bytes healed.json)" -gt 100000 ] || fail "the damaged chunk was shared"
datasetfsctl verify volume healed >/dev/null || fail "the version after the damage is not clean"

# A record that no packer writes, of the second chunk of a large file: 2 MiB that are a frame of 128 KiB.
rm -r source volume
mkdir source
head -c 6M /dev/urandom >source/large
head -c 50000 /dev/urandom >source/small
publish honest --label honest
python3 - <<'END' || fail "the record was not found"
import json, struct, subprocess
stat = json.loads(subprocess.check_output(["datasetfsctl", "stat", "--json", "volume", "large"]))
index = json.loads(subprocess.check_output(["datasetfsctl", "list", "--json", "volume"]))["versions"][0]["index"][0]
volume = bytearray(open("volume", "rb").read())
address = struct.pack("<Q", stat["chunks"][1]["device_offset"])
at = volume.index(address, index["offset"], index["offset"] + index["length"])
stored = struct.unpack_from("<I", volume, at + 16)[0]
if stored != 131072:
    raise SystemExit(f"the record says {stored} bytes")
struct.pack_into("<I", volume, at + 16, 1 << 28 | 2 << 20)
open("volume", "wb").write(volume)
END
mkdatasetfs --progress none --label anew volume source >/dev/null 2>anew.err || fail "$(cat anew.err)"
assert_contains "messages" "$(cat anew.err)" "nothing more is shared with version 'honest': chunk "
assert_contains "messages" "$(cat anew.err)" "impossible record"
datasetfsctl verify volume anew >/dev/null || fail "the version after the impossible record is not clean"

# Holes of unread files are no shared bytes, neither in the first file nor in a copy of it.
rm -r source volume
mkdir source
python3 - <<'END'
import os
data = os.urandom(131072)
for name in ("source/sparse", "source/copy"):
    with open(name, "wb") as out:
        out.write(data)
        out.seek(3 * 131072)
        out.write(data)
END
later publish holes --label holes
publish read --label read
publish unread --label unread --trust-mtime=holes
assert_eq "unread files" "$(json unchanged_files unread.json)" 2
assert_eq "holes" "$(json hole_bytes unread.json)" $((2 * 2 * 131072))
assert_eq "shared bytes" "$(json shared_bytes unread.json)" "$(json shared_bytes read.json)"
assert_eq "shared bytes and holes" $(($(json shared_bytes unread.json) + $(json hole_bytes unread.json))) \
    "$(json content_bytes unread.json)"
