#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=300
# datasetfs -o kernel with its Nth allocation or read of the volume failing: one clear line, nothing mounted and no loop
# device left; or a mount that shows what it should. And with a version that is removed before the kernel holds it.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_root
need_loop
need_mount
need_filesystem erofs

. "$LIB/faults.sh"
mkdir tree theirs
at_exit kernel_end theirs
for i in {0..20}; do head -c $((i * 700)) /dev/urandom >"tree/f$i"; done
pack v.vol tree

fresh() {
    ! is_mounted theirs || umount theirs
    wait_for 10 has_no_loops v.vol || fail "a loop device is left"
}

complete() {
    compare tree theirs --ignore holes,inodes >/dev/null
}

remains() {
    ! is_mounted theirs || fail "$1: something is mounted"
    fresh
}

each "2|32" "^datasetfs: ." datasetfs -o kernel v.vol theirs # 2: while the command line is read
fresh

say "a version that is removed while its image is made, or before the kernel holds the device"
cat >meanwhile.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
static int meanwhile(const char *what)
{
	const char *at = getenv("MEANWHILE_AT");

	unsetenv("LD_PRELOAD");
	return strncmp(what, at, strlen(at)) ? 0 : system(getenv("MEANWHILE"));
}
int memfd_create(const char *name, unsigned flags)
{
	int (*next)(const char *, unsigned) = (int (*)(const char *, unsigned))dlsym(RTLD_NEXT, "memfd_create");

	return meanwhile(name) ? -1 : next(name, flags);
}
int fsopen(const char *name, unsigned flags)
{
	int (*next)(const char *, unsigned) = (int (*)(const char *, unsigned))dlsym(RTLD_NEXT, "fsopen");

	return meanwhile(name) ? -1 : next(name, flags);
}
END
cc -shared -fPIC -D_GNU_SOURCE meanwhile.c -o meanwhile.so || fail "meanwhile.c does not compile"

# meanwhile AT VOLUME LABEL COMMAND: mounts that version; the command runs before something is made whose name
# begins with AT
meanwhile() {
    assert_fails 32 "version '$3' was removed or moved meanwhile, mount again" \
        env LD_PRELOAD="$PWD/meanwhile.so" MEANWHILE_AT="$1" MEANWHILE="($4) >changed 2>&1" \
        datasetfs -o "kernel,version=$3" "$2" theirs
    grep -q removed changed || fail "it was not removed: $(cat changed)"
    ! is_mounted theirs || fail "something is mounted"
}

pack v.vol tree --label v2
meanwhile datasetfs-erofs v.vol v1 'datasetfsctl remove v.vol v1'
wait_for 10 has_no_loops v.vol || fail "a loop device is left"
truncate -s 64M disk
loop_device disk
pack "$LOOP" tree --label v1
pack "$LOOP" tree --label v2
meanwhile erofs "$LOOP" v1 "datasetfsctl remove $LOOP v1 && mkdatasetfs --label v3 $LOOP tree"
datasetfs -o kernel "$LOOP" theirs 2>err || fail "the device is still held: $(cat err)"
compare tree theirs --ignore holes,inodes >/dev/null
umount theirs
