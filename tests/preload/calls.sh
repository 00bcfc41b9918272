#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=240
# Every call that can be made on a descriptor, on the mount with libdatasetfs-preload.so and without it: the same
# values, errors, bytes and positions. functions.list says what each of them does.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse

# answers FILE GROUP [NAME=VALUE…]: what the calls of the group say of a file of the mount
answers() {
    local rc=0
    env "${@:3}" "$calls" "$PWD/mnt/folder/$1" "$PWD/mnt/other" "$2" 2>&1 </dev/null || rc=$?
    rm -f linked scratch
    echo "exit status $rc"
}

mkdir -p source/folder
: >source/folder/empty
printf 0123456789 >source/folder/tiny
python3 -c 'import random; random.seed(7); print(random.randbytes(60000).hex())' >source/folder/text
head -c 100001 /dev/urandom >source/folder/small
{ printf '#!/bin/sh\necho it runs; exit 7\n' && seq 2000; } >source/folder/program
chmod 755 source/folder/program
head -c 3000000 /dev/urandom >source/folder/several
head -c 20000000 /dev/urandom >source/folder/large
for ((i = 0; i < 500; i++)); do echo "line $i of another file"; done >source/other
pack volume source --compress zstd:1
mount_volume volume mnt

calls=$DATASETFS_BUILD/tests/preload/calls
preload=LD_PRELOAD=$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so
files=(small empty large program)
[ "$DATASETFS_FULL" = 0 ] || files+=(tiny text several)
groups=(reads control opens real copies sockets waits streams numbers processes names raw rings off)
: >report
failed=0
for file in "${files[@]}"; do
    for group in "${groups[@]}"; do
        answers $file "$group" >without
        answers $file "$group" "$preload" "DATASETFS_REPORT=$PWD/report" >with
        [ "$(tail -n 1 without)" = "exit status 0" ] || { cat without; fail "the calls of $group on $file"; }
        [ "$(wc -l <without)" -gt 15 ] || fail "only $(wc -l <without) answers of $group on $file"
        diff without with >difference && continue
        echo "--- $group on $file: $(grep -c '^<' difference || true) answers differ, the first:"
        head -n 20 difference
        failed=1
    done
done
[ $failed = 0 ] || fail "answers differ, see above"
served=$(served report)
[ "$served" -gt 1000 ] || fail "only $served files were served, says the report"
say "$served files were served"
