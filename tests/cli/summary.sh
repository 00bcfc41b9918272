#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# The reports of mkdatasetfs: --json, --progress, --dry-run; and list, stat, dump, verify as JSON.
. "$(dirname "$0")/../lib/common.sh"

tree random source --seed 3 --files 120
chmod -R a+rX source
files=$(find source -type f -printf '%D:%i\n' | sort -u | wc -l)
links=$(find source -type l -printf x | wc -c)
directories=$(find source -type d -printf x | wc -c)

# A rehearsal writes nothing and foretells what comes.
mkdatasetfs --dry-run --json --progress none volume source >dry.json || fail "--dry-run"
[ ! -e volume ] || fail "--dry-run made a volume"
assert_eq "files foretold" "$(json files dry.json)" "$files"
mkdatasetfs -n --progress none volume source >dry.txt || fail "-n"
[ -s dry.txt ] || fail "--dry-run tells nothing"

mkdatasetfs --json --progress none volume source >summary.json 2>summary.err || fail "$(cat summary.err)"
[ ! -s summary.err ] || fail "--progress none says: $(cat summary.err)"
assert_eq "lines of --json" "$(wc -l <summary.json)" 1
assert_eq "files" "$(json files summary.json)" "$files"
assert_eq "directories" "$(json directories summary.json)" "$directories"
assert_eq "symlinks" "$(json symlinks summary.json)" "$links"
digest=$(json digest summary.json)

# Publishing it again says so.
assert_eq "identical" "$(json identical_to summary.json)" None
mkdatasetfs --progress none volume source >again.txt || fail "again"
assert_eq "the line" "$(sed -n 2p again.txt)" "  identical to 'v1': nothing changed"
mkdatasetfs --progress none --json volume source >again.json || fail "again as JSON"
assert_eq "identical" "$(json identical_to again.json)" v2
rm volume
mkdatasetfs --progress none volume source >/dev/null || fail "a new volume"

# Numbers have the right nouns, and content that is all in the index is said so.
mkdir few
for i in 1 2 3 4 5 6; do echo 1234 >few/$i; done
mkdatasetfs --progress none few.vol few >few.txt || fail "few"
assert_eq "entries" "$(sed -n 2p few.txt)" "  6 files, 1 directory, 0 symlinks, 0 hard links"
grep -qxE "  30 bytes in 6 files, all in the index of [0-9.]+ KiB" few.txt || fail "content: $(cat few.txt)"
grep -qE "^  [0-9.]+ s$" few.txt || fail "a rate of nothing: $(cat few.txt)"
mkdir -p one/folder && printf x >one/folder/file && ln -s a one/a && mkfifo one/fifo && ln one/folder/file one/link
mkdatasetfs --progress none one.vol one >one.txt 2>/dev/null || fail "one"
assert_eq "entries" "$(sed -n 2,3p one.txt)" "  1 file, 2 directories, 1 symlink, 1 hard link
  1 device, socket or FIFO left out"
assert_contains "content" "$(cat one.txt)" "  1 byte in 1 file, all in the index"
mkdatasetfs --progress none --dry-run one.vol one >one.txt 2>/dev/null || fail "one"
assert_contains "versions" "$(cat one.txt)" "content of the 1 version there would be shared"

# The estimate of a rehearsal is an upper bound.
estimate=$(json image_bytes dry.json)
size=$(stat -c %s volume)
[ "$estimate" -ge "$size" ] || fail "the estimate is $estimate, the volume has $size bytes"
before=$(hash_of volume)
mkdatasetfs --dry-run --progress none volume source >/dev/null || fail "--dry-run on a volume"
assert_eq "a volume after a rehearsal" "$(hash_of volume)" "$before"

# Allocated blocks say nothing of the content: holes count, as do files that their filesystem compresses.
mkdir sparse
truncate -s 5000000 sparse/file
mkdatasetfs --dry-run --json --progress none other sparse >sparse.json || fail "--dry-run of a hole"
[ "$(json image_bytes sparse.json)" -ge 5000000 ] ||
    fail "$(json image_bytes sparse.json) bytes at most for a file of 5000000"

# Progress as JSON lines, on stderr or stdout, each of them valid.
mkdatasetfs --progress json --format volume source >progress.out 2>progress.err || fail "--progress json"
grep -h '^{' progress.out progress.err >progress.json || fail "--progress json shows no JSON"
python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' <progress.json || fail "--progress json is not JSON"
mkdatasetfs --progress plain --format volume source >plain.out 2>&1 || fail "--progress plain"
! grep -q $'\r\|\033' plain.out || fail "--progress plain writes control characters"

datasetfsctl list --json volume >list.json
assert_eq "files" "$(json versions.0.files list.json)" "$files"
assert_eq "label" "$(json versions.0.label list.json)" v1
assert_eq "current" "$(json current list.json)" v1
assert_eq "digest" "$(json versions.0.digest list.json)" "$digest"
assert_eq "digest of the dump" "sha256:$(datasetfsctl dump volume | sha256sum | cut -d ' ' -f 1)" "$digest"
assert_contains "list" "$(datasetfsctl list volume)" "v1"

datasetfsctl dump --json volume >dump.json
python3 - "$files" "$directories" "$links" <<'END' || fail "dump --json"
import json, os, sys
entries = [json.loads(line) for line in open("dump.json")]
for kind, wanted in (("f", sys.argv[1]), ("d", sys.argv[2]), ("s", sys.argv[3])):
    found = len({e["ordinal"] for e in entries if e["type"][0] == kind})
    if found != int(wanted):
        sys.exit(f"fail: {found} of type {kind}, expected {wanted}")
for entry in entries:
    path = os.path.join(b"source", os.fsencode(entry["path"]).strip(b"/"))
    st = os.lstat(path)
    if (entry["mtime"], entry["mtime_nsec"]) != divmod(st.st_mtime_ns, 10**9):
        sys.exit(f"fail: {path} has another mtime")
    if (entry["uid"], entry["gid"]) != (st.st_uid, st.st_gid):
        sys.exit(f"fail: {path} has another owner")
    if entry["type"][0] == "f" and sum(chunk["length"] for chunk in entry["chunks"]) != st.st_size:
        sys.exit(f"fail: {path}: its chunks are not its size")
END
file=$(cd source && find . -type f -size +9k ! -name $'*[^a-z0-9._-]*' -printf '%P\n' | LC_ALL=C sort | sed -n 1p)
datasetfsctl stat --json volume "$file" >stat.json
assert_eq "size" "$(json size stat.json)" "$(stat -c %s "source/$file")"
datasetfsctl stat volume "$file" >stat.txt
[ -s stat.txt ] || fail "stat shows nothing"
datasetfsctl verify --json volume >verify.json || fail "verify"
python3 -c 'import json; json.load(open("verify.json"))' || fail "verify --json is not JSON"
