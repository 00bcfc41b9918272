#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=300
# datasetfsctl extract with its Nth allocation or read of the volume failing: one clear line, exit 1, and under each
# name that is there all of that file; or, where the failure did not matter, everything. And with somebody else at work
# in the directory, who puts a hard link where extract has made a symbolic one: root does not give that file away.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/faults.sh"

mkdir -p tree/folder/in
for i in {0..20}; do head -c $((i * 700)) /dev/urandom >"tree/folder/f$i"; done
head -c 3M /dev/urandom >tree/large
echo linked >tree/folder/in/file
ln tree/folder/in/file tree/other
ln -s folder/in tree/symlink
pack v.vol tree --label v1

fresh() {
    rm -rf out
    mkdir out
}

complete() {
    diff -r --no-dereference tree out
}

remains() {
    (cd out && find . -type f -exec cmp {} ../tree/{} \;) >different 2>&1
    [ ! -s different ] || fail "$1: $(cat different)"
}

each 1 "^datasetfsctl: cannot extract from .v.vol.: ." datasetfsctl extract -C out v.vol

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
