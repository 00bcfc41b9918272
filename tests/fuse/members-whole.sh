#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: daemon timeout=400
# Volumes of 2, 3 and 5 members, files and loop devices, without protection and mirrored: whatever they are called by,
# they show the source, through the mount and past it, before and after a switch. Files and reads are spread evenly; a
# copy stands in for a damaged one.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/library.sh"
need_fuse

options=(--seed "${SEED:-$RANDOM}")
tree random first "${options[@]}" --files 100
tree random second "${options[@]}" --files 60
python3 - <<'END_PYTHON'
import os, random
rng = random.Random(16)
for number in range(2000):
    content = rng.randbytes(200 + min(200_000, int(rng.lognormvariate(8.6, 0.9))))
    for top in "first", "second":
        path = f"{top}/small/{number % 10}/{number}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content[::-1] if top == "second" and number % 3 == 0 else content)
END_PYTHON

counts=3 # cli/members-same.sh packs to 2 and 5
[ "$DATASETFS_FULL" = 0 ] || [ -n "${DATASETFS_SANITIZER:-}" ] || counts="2 3 5"

# names COUNT PREFIX: PREFIX1,PREFIX2,…
names() {
    seq -s, -f "$2%g" "$1"
}

digest() {
    datasetfsctl list --json "$1" | json versions.0.digest
}

sums() {
    WAY=$1 "$DATASETFS_BUILD/tests/library/library-way" "$2" sums | sort
}

pack one first --label first
pack one second --label second --no-current
first=$(digest one)
sums direct one >sums.first

# even MEMBERS VOLUME: no member has 4 % more files or bytes than they have on average. 2,000 files are few for so many
# classes of size; unit/test-allocator holds 60,000 to 2 %
even() {
    library_tree "$2" members small >spread
    assert_eq "members that have files" "$(wc -l <spread)" "$1"
    awk '{ files[NR] = $2; bytes[NR] = $3; all += $2; total += $3 }
        END { for (i in files) if (files[i] > all / NR * 1.04 || files[i] < all / NR * 0.96 ||
            bytes[i] > total / NR * 1.04 || bytes[i] < total / NR * 0.96) exit 1 }' spread ||
        fail "member, files, bytes: $(paste -sd ';' spread)"
}

# past MOUNT NAME: by the library, by an unchanged program and by Python
past() {
    sums direct "$1" | cmp - sums.first || fail "the library past the mount"
    sums mount "$1" | cmp - sums.first || fail "the library through the mount"
    sums direct "$2" | cmp - sums.first || fail "the library on '$2'"
    [ -z "${DATASETFS_SANITIZER:-}" ] || return 0
    datasetfs-run cat "$1"/small/1/*1 | cmp - <(cat first/small/1/*1) || fail "datasetfs-run cat"
    PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python python3 - "$1" <<'END_PYTHON' || fail "Python"
import datasetfs, glob, sys
paths = glob.glob("small/*/*", root_dir="first")
found = datasetfs.read_many([f"{sys.argv[1]}/{path}" for path in paths])
for path, content in zip(paths, found):
    with open(f"first/{path}", "rb") as file:
        expected = file.read()
    if bytes(content) != expected or datasetfs.read(f"{sys.argv[1]}/{path}") != expected:
        sys.exit(f"fail: other bytes in {path}")
END_PYTHON
}

# serves NAME…: mounts by each and reads all; past the mount for the first
serves() {
    local name way=past
    for name; do
        mount_volume "$name" mnt
        compare first mnt
        if [ -n "$way" ]; then
            past mnt "$name"
            way=
        fi
        unmount mnt
    done
}

# switches NAME: to a version that is published under the mount
switches() {
    local names=$1
    mount_volume "$names" mnt
    pack "$names" second --label second --no-current
    datasetfsctl switch mnt second >/dev/null
    compare second mnt
    compare first mnt/.datasetfs/versions/first
    unmount mnt
    datasetfsctl verify --jobs 2 "$names" >verify.log || fail "verify: $(cat verify.log)"
}

# kinds MEMBERS: of protection that so many can have
kinds() {
    echo none mirror:2
    [ "$1" -lt 3 ] || echo mirror:3
}

say "files"
for count in $counts; do
    for protect in $(kinds $count); do
        folder=$count-$protect
        mkdir "$folder"
        names=$(names $count "$folder/")
        pack "$names" first --label first --protect "$protect"
        assert_eq "digest of $count members, $protect" "$(digest "$names")" "$first"
        even $count "$names"
        # Any of them leads to the others, and their order means nothing.
        serves "$names" "$folder/$count" "$(tr , '\n' <<<"$names" | tac | paste -sd ,)"
        switches "$folder/1"
        rm -r "$folder"
        say "$count members, $protect"
    done
done

say "the same bytes"
for jobs in 1 2 8; do
    SOURCE_DATE_EPOCH=1700000000 pack "$(names 3 same)" first --uuid 01234567-89ab-cdef-0123-456789abcdef \
        --protect mirror:2 -j $jobs --format
    sha256sum same[123] >same.$jobs
    cmp same.1 same.$jobs || fail "other bytes with -j $jobs"
done
rm same[123]

# --- damage ---

mkdir source
head -c 6000 /dev/urandom >source/small
head -c 300000 /dev/urandom >source/large
printf 'the marked file %5984d' 7 >source/marked
volume=$(names 3 mirror)
pack "$volume" source --protect mirror:2 --compress none
copies=$(grep -obaF "the marked file" mirror[123])
assert_eq "copies of a file" "$(wc -l <<<"$copies")" 2
# stat names both, as the bytes say; slot n is the member mirror(n + 1).
named=$(datasetfsctl stat --json "$volume" marked | python3 -c '
import json, sys
for part in json.load(sys.stdin)["ranges"]:
    for place in [part] + part["copies"]:
        number, offset = place["member"] + 1, place["device_offset"]
        print(f"mirror{number}:{offset}:the marked file")')
assert_eq "copies that stat names" "$(sort <<<"$named")" "$(sort <<<"$copies")"
place=$(head -n 1 <<<"$copies" | cut -d : -f 2)
assert_contains "what stat says" "$(datasetfsctl stat "$volume" marked)" ":$place"

# spoil_copy FILE:OFFSET:…: and once more makes it whole again
spoil_copy() {
    spoil "${1%%:*}" "$(cut -d : -f 2 <<<"$1")"
}

say "one copy is damaged"
found=0
while read -r copy; do
    : >daemon.log
    mount_volume "$volume" mnt
    spoil_copy "$copy"
    cmp source/marked mnt/marked || fail "'marked' with $copy damaged"
    met=$(stats mnt checksum_failures) # of the first read: a later one may be of the other copy
    compare source mnt
    if [ "$met" -ge 1 ]; then
        found=$((found + 1))
        [ "$(stats mnt retries)" -ge 1 ] || fail "no second read was counted"
        assert_eq "reads that failed" "$(stats mnt read_failures)" 0
        assert_contains "the log" "$(cat daemon.log)" "cannot use a copy of '/marked'"
    fi
    unmount mnt
    spoil_copy "$copy"
done <<<"$copies"
assert_eq "copies whose damage was met" $found 1

say "both copies are damaged"
mount_volume "$volume" mnt
while read -r copy; do spoil_copy "$copy"; done <<<"$copies"
exits 1 cat mnt/marked >out 2>cat.err
assert_contains "cat" "$(cat cat.err)" "Input/output error"
[ ! -s out ] || fail "bytes came with the error"
for file in small large; do cmp source/$file mnt/$file || fail "'$file'"; done
assert_contains "the log" "$(cat daemon.log)" "read of '/marked' failed"
[ "$(stats mnt read_failures)" -ge 1 ] || fail "no failed read was counted"
unmount mnt

# --- devices ---

need_loop
for i in {1..5}; do
    truncate -s 192M disk$i
    loop_device disk$i --direct-io=on
    devices+=("$LOOP")
done

# costs PROTECT DEVICE…: a cold small file is one read of a device, and no device has more of them than its share. Of
# copies the one that answers sooner is read more often
costs() {
    mount_volume "$2" mnt -o readahead=off
    python3 - "$@" <<'END_PYTHON' || fail "reads of $*"
import glob, json, random, sys
paths = glob.glob("mnt/small/*/*")
random.Random(1).shuffle(paths)
def reads(): # as the daemon counts them: whoever mounts a device by its name looks at all devices
    with open("mnt/.datasetfs/stats.json") as stats:
        counted = json.load(stats)
    return counted["device_reads"], [member["reads"] for member in counted["members"]], counted["hedges_sent"]
before = reads()
for path in paths:
    with open(path, "rb", buffering=0) as file:
        file.read(1 << 20)
after = reads()
counts = [new - old for new, old in zip(after[1], before[1])]
print(f"{len(paths)} files, device reads {after[0] - before[0]}, by device {counts}")
again = after[2] - before[2] # reads that are late on a busy machine are sent to another copy as well
for total in after[0] - before[0] - again, sum(counts) - again:
    if not 0.98 * len(paths) <= total <= 1.02 * len(paths):
        sys.exit(f"fail: {total} reads of {len(paths)} files")
if sys.argv[1] == "none" and max(counts) > 1.05 * sum(counts) / len(counts):
    sys.exit("fail: one device has more than its share")
END_PYTHON
    unmount mnt
}

say "devices"
for count in $counts; do
    some=("${devices[@]:0:count}")
    names=$(IFS=,; echo "${some[*]}")
    for protect in $(kinds $count); do
        for device in "${some[@]}"; do wipefs -qa "$device"; done
        pack "$names" first --label first --protect "$protect" --force --format
        assert_eq "digest of $count devices, $protect" "$(digest "$names")" "$first"
        serves "${some[count - 1]}" "uuid:$(datasetfsctl list --json "$names" | json uuid)"
        costs "$protect" "${some[@]}"
        switches "$names"
        say "$count devices, $protect"
    done
done
