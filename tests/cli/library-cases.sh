#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=gcc,asan
# libdatasetfs, call by call: what it refuses and with which words, what it leaves behind, descriptors that the program
# closes, damage, files that the caller may not read, versions, and what the shared library lets out.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

cases=$DATASETFS_BUILD/tests/library/library-cases
mkdir -p source/folder
head -c 50000 /dev/urandom >source/folder/file
for i in {1..20}; do
    head -c $((i * 3000)) /dev/urandom >source/$i
done
pack volume source --label v1

for case in wrong-calls looked-at nothing-stays; do
    "$cases" $case volume folder/file || fail "$case"
done
timeout 60 "$cases" polls volume folder/file || fail "polls"
timeout 60 "$cases" queue-in-child volume folder/file || fail "queue-in-child"
c_program lib/without_io_uring
rc=0
./without_io_uring true || rc=$?
if [ $rc != 77 ]; then
    timeout 60 ./without_io_uring "$cases" queue-in-child volume folder/file ||
        fail "queue-in-child without io_uring"
    timeout 60 ./without_io_uring "$cases" limited-wait volume folder/file || fail "limited-wait"
fi
if [ "$DATASETFS_BUILD_NAME" = gcc ]; then # sanitizers need descriptors
    "$cases" few-descriptors volume folder/file || fail "few-descriptors"
    assert_eq "without keys" "$("$cases" no-keys volume folder/file)" "no pthread key is left for data of a thread"
    "$cases" closed-descriptors volume folder/file >closed.log || fail "closed-descriptors"
    assert_contains "the reason" "$(cat closed.log)" "was the volume and is not any more: the program closed it"
fi

say "a version that becomes current"
mkfifo to from
"$cases" refreshes volume folder/file <to >from &
exec 3>to 4<from
read -r line <&4
assert_eq "the program" "$line" ready
echo more >source/more
pack volume source --label v2
echo go >&3
read -r line <&4
assert_eq "its version" "$line" v2
wait $!
exec 3>&- 4<&-

say "damage"
cp volume damaged
python3 - <<'END'
content = open("source/folder/file", "rb").read()
with open("damaged", "r+b") as volume:
    at = volume.read().index(content)
    volume.seek(at + 1000)
    volume.write(b"damage")
    print(at)
END
if "$cases" read damaged folder/file >reason; then
    fail "damage was not found"
fi
grep -qE "^Bad message: '/folder/file': chunk [0-9]+ at offset [0-9]+ of the volume: chunk sum [0-9a-f]{16}, " reason ||
    fail "$(cat reason)"
python3 - <<'END'
content = open("source/10", "rb").read()
with open("volume", "rb") as volume, open("damaged-10", "wb") as damaged:
    damaged.write(volume.read().replace(content[:1000], bytes(1000)))
END
"$cases" one-damaged damaged-10 10 >reason || fail "one of several"
assert_contains "the reason" "$(cat reason)" "'/10': chunk "
"$cases" read damaged 7 | cmp - source/7

say "what the shared library lets out"
exported=$(nm -D --defined-only "$DATASETFS_BUILD/src/lib/libdatasetfs.so.0" |
    awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort)
declared=$(grep -oE '\bdsfs_[a-z_]+\(' "$DATASETFS_SOURCE/include/datasetfs/datasetfs.h" | tr -d '(' | sort -u)
assert_eq "functions" "$exported" "$declared"

say "files that the caller may not read"
need_root
chmod 0640 source/folder/file
chmod 0604 source/3
chgrp 65534 source/4 source/5
chmod 0040 source/4
chmod 0404 source/5
pack private source
chmod 644 private
chmod 755 .
"$cases" read private folder/file | cmp - source/folder/file
"$cases" another-user private 3 || fail "a queue of another user"
"$cases" refused private 0 || fail "root may read all"
"$cases" filesystem-users private source || fail "users of the filesystem"
as_user "$cases" refused private 2 >refused || fail "another user: $(cat refused)"
assert_contains "the reason" "$(cat refused)" "has mode 0640, uid 0, gid 0: uid 65534 may not read it"
assert_contains "the reason" "$(cat refused)" "has mode 0404, uid 0, gid 65534: uid 65534 may not read it"
