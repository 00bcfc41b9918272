#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# datasetfsctl describe --diff finds what differs between the sources of two versions: files that were added, removed,
# changed, moved, or changed in attributes only; the other way round it finds the reverse.
. "$(dirname "$0")/../lib/common.sh"

# differs FROM TO LIMIT [FOLDER]: --diff as JSON into diff.json is what differs between the trees of these names
differs() {
    datasetfsctl describe --json --limit "$3" volume --diff "$1" "$2" ${4:+--folder "$4"} >diff.json ||
        fail "describe --diff $*"
    python3 "$LIB/describe.py" diff "$1" "$2" "$3" ${4:+"$4"} <diff.json || fail "describe --diff $*"
}

# has LINE: text.out has it, begun by any blanks
has() {
    sed -E 's/^ +//; s/ +/ /g' text.out | grep -xF -- "$1" >has.line || { cat text.out; fail "no line '$1'"; }
}

python3 "$LIB/describe.py" make-diff old new
pack volume old --label old
pack volume new --label new --compress zstd
for limit in 1000 2 0; do
    differs new old $limit
    differs old new $limit
done
differs old new 1000 keep
datasetfsctl describe --json --limit 1000 volume --diff old new >forth.json
datasetfsctl describe --json --limit 1000 --diff new volume old >back.json
python3 "$LIB/describe.py" mirrored forth.json back.json || fail "not mirrored"
assert_eq "moved" "$(json moved.files forth.json)" 33
assert_eq "moved one" "$(json moved.list.0 forth.json)" \
    '{"from": "/moved\nhere", "to": "/keep/moved to\u001b", "type": "regular file", "bytes": 60}'
assert_eq "from" "$(json from.label forth.json) $(json from.digest forth.json)" \
    "old $(datasetfsctl list --json volume | json versions.0.digest)"

# The version that is current is the one that is compared when none is named.
datasetfsctl describe --json --limit 1000 volume --diff old >current.json
cmp forth.json current.json || fail "not the current version"

# Equal versions, by whatever they are stored as.
pack volume new --label again
datasetfsctl describe --json volume --diff new again >same.json
python3 "$LIB/describe.py" diff new new 20 <same.json || fail "equal versions"
assert_eq "unchanged" "$(json unchanged.files same.json)" "$(find new -type f | wc -l)"
assert_eq "nothing else" "$(grep -o '"files": 0,' same.json | wc -l)" 6

# As text.
datasetfsctl describe volume --diff old new --limit 3 >text.out
has "4 4.9 % 71 bytes added"
has "33 40.2 % 59.1 KiB moved"
has "34 41.5 % 42.6 KiB unchanged"
has "2 0 removed"
has "added (the first 3 of 8)"
has "53 bytes /b/second-name"
has "60 bytes /moved\\x0ahere -> /keep/moved to\\x1b"
has "26 bytes /a/x (-27 bytes)"
datasetfsctl describe volume --diff old new >text.out
has "directory /type/ (was a regular file)"
has "53 bytes /b/x (links)"
has "54 bytes /mode (mode)"
has "directory / (mtime)"
! LC_ALL=C grep -nP '[\x00-\x09\x0b-\x1f\x7f]|\xff' text.out || fail "a byte that is not to be shown"
datasetfsctl describe volume --diff again new >text.out
has "78 100.0 % 2.10 MiB unchanged"
! grep -q 'the first\|attributes only *(' text.out || fail "a list of nothing: $(cat text.out)"

# Chunks of other sizes: small files are compared, large ones are not, and nothing is claimed of them.
pack volume new --label fine --chunk-size 4K
datasetfsctl describe --json volume --diff new fine >fine.json
assert_eq "unknown" "$(json unknown.list fine.json)" '[{"path": "/large", "type": "regular file", "bytes": 2097153}]'
assert_eq "unchanged" "$(json unchanged.files fine.json)" $(($(find new -type f | wc -l) - 1))
datasetfsctl describe volume --diff new fine >text.out
has "1 1.3 % 2.00 MiB not comparable: other chunk sizes"
truncate -s 1M new/large
pack volume new --label short --chunk-size 4K
datasetfsctl describe --json volume --diff new short >short.json
assert_eq "of another size" "$(json unknown.files short.json) $(json changed.list short.json)" "0 [{$(
    )\"path\": \"/large\", \"type\": \"regular file\", \"bytes\": 1048576, $(
    )\"former_type\": \"regular file\", \"former_bytes\": 2097153}]"

# A terminal of 70 columns. Digests stay whole, to be copied.
if (need_pty) >/dev/null; then
    script -qec "stty cols 70; LC_ALL=C datasetfsctl describe volume --diff old new --limit 0" /dev/null </dev/null |
        tr -d '\r' >text.out
    has "33 40.2 % 59.1 KiB $(printf '#%.0s' {1..19}) moved"
    awk '!/^digest / && length($0) > 70 { exit 1 }' text.out || fail "wider than the terminal: $(cat text.out)"
fi

# Wrong words.
assert_fails 1 "the volume has no version 'v9': choose one that it has" datasetfsctl describe volume --diff v9 new
assert_fails 1 "the volume has no version 'v9': choose one that it has" datasetfsctl describe volume --diff new v9
assert_fails 1 "version 'new': there is no 'gone' in the version" \
    datasetfsctl describe volume --diff new old --folder gone
mkdir other
assert_fails 1 "cannot describe 'other'" datasetfsctl describe --diff old other volume
assert_fails 2 "option '--diff'" datasetfsctl describe volume --diff

enough_for_smoke
# A damaged index of either of them.
cp volume damaged
datasetfsctl current damaged new >current.out
"$DATASETFS_BUILD/tests/format/forge" damaged index second-name second/name || fail "forge"
assert_fails 1 "cannot describe 'damaged'" datasetfsctl describe damaged --diff old
assert_fails 1 "cannot describe 'damaged'" datasetfsctl describe damaged --diff new old
