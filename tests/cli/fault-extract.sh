#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=300
# datasetfsctl extract with its Nth allocation or read of the volume failing: one clear line, exit 1, and under each
# name that is there all of that file; or, where the failure did not matter, everything. And with somebody else at work
# in the directory, who puts a hard link where extract has made a symbolic one: root does not give that file away.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

cc -shared -fPIC -O1 -D_GNU_SOURCE "$LIB/fault.c" -o fault.so || fail "fault.c does not compile"
mkdir -p tree/folder/in
for i in {0..20}; do head -c $((i * 700)) /dev/urandom >"tree/folder/f$i"; done
head -c 3M /dev/urandom >tree/large
echo linked >tree/folder/in/file
ln tree/folder/in/file tree/other
ln -s folder/in tree/symlink
pack v.vol tree --label v1

# injected KIND N: extracts with that call failing, none with N = 0
injected() {
    rm -rf out
    mkdir out
    rc=0
    FAULT_KIND=$1 FAULT_AT=$2 FAULT_COUNT=$PWD/count FAULT_VOLUME=$PWD/v.vol LD_PRELOAD=$PWD/fault.so \
        datasetfsctl extract -C out v.vol >said 2>err || rc=$?
}

for kind in alloc read; do
    injected $kind 0
    assert_eq "status without a failure" $rc 0
    count=$(cat count) failed=0
    [ "$count" -gt 0 ] || fail "no $kind was counted"
    for ((n = 1; n <= count; n += $(length 3 1))); do
        injected $kind $n
        if [ $rc = 0 ]; then
            diff -r --no-dereference tree out || fail "$kind $n: something else"
            continue
        fi
        failed=$((failed + 1))
        assert_eq "status of $kind $n" $rc 1
        assert_eq "lines of $kind $n" \
            "$(grep -c "^datasetfsctl: cannot extract from .v.vol.: ." err) $(wc -l <err)" "1 1"
        (cd out && find . -type f -exec cmp {} ../tree/{} \;) >different 2>&1
        [ ! -s different ] || fail "$kind $n: $(cat different)"
    done
    [ $failed -gt 0 ] || fail "no $kind failed"
    say "$kind: $failed failures of $count"
done

is_root || exit 0
cat >swap.c <<END
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int symlinkat(const char *text, int folder, const char *name)
{
	(void)text;
	return linkat(AT_FDCWD, getenv("VICTIM"), folder, name, 0);
}
END
cc -shared -fPIC swap.c -o swap.so || fail "swap.c does not compile"
chown -h 1234:1234 tree/symlink
pack owned.vol tree
touch victim
rm -rf out
mkdir out
rc=0
VICTIM=$PWD/victim LD_PRELOAD=$PWD/swap.so datasetfsctl extract -C out owned.vol symlink >said 2>err || rc=$?
assert_eq "status" $rc 1
assert_contains "reason" "$(cat err)" "'./symlink': another file took its name meanwhile"
assert_eq "owner" "$(stat -c %u:%g victim)" 0:0
