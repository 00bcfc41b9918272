#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# datasetfsctl describe counts the same as a walk of the source tree, in JSON and in text: folders, sizes, kinds,
# largest files, duplicates, holes, compression.
. "$(dirname "$0")/../lib/common.sh"

# chunk_size VERSION: number VERSION of the volume
chunk_size() {
    datasetfsctl list --json volume | json "versions.$1.chunk_size"
}

# surveyed TREE LIMIT [WORD…]: describe --json of the volume with these words is what the tree holds
surveyed() {
    datasetfsctl describe --json --limit "$2" volume "${@:4}" ${3:+--folder "$3"} >survey.json ||
        fail "describe --limit $2 ${*:3}"
    python3 "$LIB/describe.py" survey "$1" "$chunk" "$2" ${3:+"$3"} <survey.json || fail "describe --limit $2 ${*:3}"
}

# has TEXT: the file text.out has this line, begun by any blanks
has() {
    sed -E 's/^ +//; s/ +/ /g' text.out | grep -xF -- "$1" >has.line || { cat text.out; fail "no line '$1'"; }
}

python3 "$LIB/describe.py" make-survey tree
pack volume tree --chunk-size 16K
chunk=$(chunk_size 0)
for limit in 1000 3 0; do
    surveyed tree $limit ''
done
assert_eq "digest" "$(json version.digest survey.json)" "$(datasetfsctl list --json volume | json versions.0.digest)"
assert_eq "sharing" "$(json duplicates.saved_bytes survey.json)" \
    $((2 * (3145733 + 5000) + 2097152 + 3145733 - 16384 + 82 * 16384)) # copies, parts of copies, text that repeats
assert_eq "compression" "$(json storage.compression survey.json)" 1.0
for folder in class0/sub /sizes names// holes/; do
    surveyed tree 20 "$folder"
done

# As text, not in a terminal: no bars, no byte of a name that a terminal obeys.
datasetfsctl describe volume --limit 5 >text.out
has "files 99, 46.2 MiB, 478 KiB on average"
has "hard links 2 further names of files, 137 KiB: below, folders and kinds count names"
has "duplicates 4 files, 6.01 MiB, have the content of another file; sharing saves 12.3 MiB"
has "holes 28.0 MiB in 6 files"
has "classes 10 folders with files, 1 without; imbalance 41.00 (largest to smallest)"
has "median 7 files"
has "smallest 1 file 'text'"
has "41 40.6 % 104 KiB class0"
has "... 6 more folders, 15 files, 40.8 MiB"
has "3 3.0 % 68.4 KiB (in no folder)"
has "8 8.1 % 40.6 KiB 4 KiB, below 8 KiB"
has "24 23.8 % 30.4 MiB (none)"
has "20.0 MiB /holes/long"
datasetfsctl describe volume --limit 1000 >text.out
has "1 1.0 % 1 byte bad\\xff\\x0aname"
has "1 1.0 % 14 bytes \\x1b"
has '9 bytes /names/..two'
! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\xff|#|\xe2\x96' text.out || fail "a byte not to be shown, or a bar"

# Compressed: the same but for what is stored; by the numbers of 'stat' where the whole version is one file.
pack volume tree --label packed --compress zstd
chunk=$(chunk_size 1)
surveyed tree 1000 '' packed
[ "$(json storage.compressed_chunks survey.json)" -ge 14 ] || fail "compressed: $(json storage survey.json)"
mkdir one && cp tree/text/words.txt one/
pack single one --compress zstd
datasetfsctl describe --json single >survey.json
python3 - survey.json <(datasetfsctl stat --json single words.txt) <<'END' || fail "a compressed file"
import json, sys
survey, chunks = (json.load(open(name)) for name in sys.argv[1:])
chunks = chunks["chunks"]
expected = {"sparse_files": 0, "hole_bytes": 0, "unique_bytes": 1860000, "index_bytes": 0, "chunks": len(chunks),
            "stored_bytes": sum(chunk["stored"] for chunk in chunks),
            "compressed_chunks": sum(chunk["codec"] == "zstd" for chunk in chunks)}
expected["compression"] = round(1860000 / expected["stored_bytes"], 6)
assert survey["storage"] == expected and expected["compression"] > 10, (survey["storage"], expected)
assert survey["folders"]["outside"]["files"] == 1 and survey["folders"]["largest"] is None, survey["folders"]
END
datasetfsctl describe single >text.out
has "classes 0 folders with files"
has "1 100.0 % 1.77 MiB (in no folder)"

# An empty data set, and more kinds than are told apart.
mkdir nothing
pack volume nothing --label nothing --allow-empty
surveyed nothing 20 '' nothing
datasetfsctl describe volume nothing >text.out
has "files 0, 0 bytes, 0 bytes on average"
has "stored 0 bytes as 0 bytes; 0 bytes of it in the index"
! grep -q FILES text.out || fail "a table of nothing"
python3 "$LIB/describe.py" make-kinds kinds 4200
pack volume kinds --label kinds
datasetfsctl describe --json --limit 1000000 volume kinds | python3 -c '
import json, sys
found = json.load(sys.stdin)
kinds = found["kinds"]
assert kinds["count"] == 4096 == len(kinds["list"]), kinds["count"]
assert kinds["further"] == {"files": 104, "bytes": 416}, kinds["further"]
assert {row["files"] for row in kinds["list"]} == {1} and len({row["kind"] for row in kinds["list"]}) == 4096
assert found["duplicates"] == {"files": 4199, "bytes": 16796, "saved_bytes": 16796}, found["duplicates"]
' || fail "4200 kinds"

# Top folders that are splits have the classes in them; unless they hold little of it, as a class called 'test' does.
python3 "$LIB/describe.py" make-splits splits
cp -r splits vehicles && mkdir vehicles/plane && cp -r splits/train2017 vehicles/plane/
pack volume splits --label splits
pack volume vehicles --label vehicles
for limit in 1000 2; do
    surveyed splits $limit '' splits
    surveyed vehicles $limit '' vehicles
    surveyed vehicles $limit plane vehicles
done
datasetfsctl describe volume splits --limit 2 >text.out
has "classes in 'train2017': 3 folders with files; imbalance 4.50 (largest to smallest)"
has "classes in 'VAL_small': 2 folders with files, 1 without; imbalance 3.00 (largest to smallest)"
has "smallest 2 files 'class2'"
has "FILES SHARE BYTES FOLDER IN train2017"
has "9 56.2 % 63 bytes class0"
assert_eq "balances of classes" "$(grep -c ^classes text.out)" 2
datasetfsctl describe volume vehicles >text.out
has "classes 6 folders with files, 1 without; imbalance 16.00 (largest to smallest)"

# Wrong words.
assert_fails 1 "the volume has no version 'v9': choose one that it has" datasetfsctl describe volume v9
assert_fails 1 "version 'v1': there is no 'class9' in the version" datasetfsctl describe volume v1 --folder class9
assert_fails 1 "version 'v1': '/root.txt' is no directory" datasetfsctl describe volume v1 --folder /root.txt
assert_fails 1 "cannot describe 'absent': there is no such file" datasetfsctl describe absent
assert_fails 2 "--limit" datasetfsctl describe volume --limit many
assert_fails 2 "expected VOLUME|MNT [LABEL]" datasetfsctl describe
printf 'not a volume' >other
assert_fails 1 "cannot describe 'other'" datasetfsctl describe other

# A forged index is refused before anything is printed.
cp single forged
"$DATASETFS_BUILD/tests/format/forge" forged index words.txt words/txt || fail "forge"
assert_fails 1 "cannot describe 'forged'" datasetfsctl describe forged
[ ! -s "$DATASETFS_TEST_DIR/fails.out" ] || fail "a forged index is described"

# By a mount: the version that it serves.
if (need_fuse) >/dev/null; then
    mount_volume volume mnt -o version=v1
    datasetfsctl describe --json --limit 3 mnt >mounted.json || fail "describe a mount"
    datasetfsctl describe --json --limit 3 volume v1 | sed "s,\"volume\": \"volume\",\"volume\": \"$PWD/volume\"," |
        cmp - mounted.json || fail "another description by the mount: $(cat mounted.json)"
    unmount mnt
fi

# In a terminal: bars as wide as it leaves room, of characters that it has.
need_pty
# terminal COLUMNS LOCALE WORD…: into text.out
terminal() {
    script -qec "stty cols $1; LC_ALL=$2 datasetfsctl describe $(printf '%q ' "${@:3}")" /dev/null </dev/null |
        tr -d '\r' >text.out
}
terminal 80 C volume v1 --limit 4
has "41 40.6 % 104 KiB $(printf '#%.0s' {1..31}) class0"
has "13 12.9 % 178 bytes ######### names"
terminal 80 C.UTF-8 volume v1 --limit 4
has "13 12.9 % 178 bytes █████████▊ names"
python3 -c '
import sys
sys.exit(max(len(line.rstrip("\n")) for line in open("text.out", encoding="utf-8") if "KiB  " in line) > 80)
' || fail "wider than the terminal"
terminal 200 C volume v1 --limit 4
has "41 40.6 % 104 KiB $(printf '#%.0s' {1..60}) class0"
terminal 40 C volume v1 --limit 4
has "41 40.6 % 104 KiB class0"
