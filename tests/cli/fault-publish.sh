#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=240
# Failures that must not pass for an answer: a device that cannot be read is not blank, a file system that
# cannot tell its holes has none, and what follows the rename of a new volume cannot fail the publish.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/faults.sh"

mkdir source
echo content >source/file

# fault KIND N VOLUME COMMAND…: runs it with that call failing, none with N = 0; sets rc
fault() {
    rc=0
    env FAULT_KIND="$1" FAULT_AT="$2" FAULT_COUNT="$PWD/count" FAULT_VOLUME="$3" "${@:4}" >out 2>err || rc=$?
}

# To be run by fault.
publish=(env LD_PRELOAD="$PWD/fault.so" mkdatasetfs --progress none)

if can_loop; then
    say "a device that was published to once, and one with a filesystem"
    truncate -s 8M disk
    loop_device "$PWD/disk"
    pack "$LOOP" source --label one
    cp disk once
    mkfs.ext4 -q -F "$LOOP"
    cp disk foreign
    for content in once foreign; do
        dd if=$content of="$LOOP" bs=1M conv=notrunc,fsync status=none
        fault read 0 "$LOOP" "${publish[@]}" --label two "$LOOP" source
        total=$(cat count) failed=0
        [ "$total" -gt 8 ] || fail "$total reads of the device were counted"
        for ((n = 1; n <= total; n++)); do
            dd if=$content of="$LOOP" bs=1M conv=notrunc,fsync status=none
            fault read $n "$LOOP" "${publish[@]}" --label two "$LOOP" source
            [ $rc = 0 ] || failed=$((failed + 1))
            [ $rc = 0 ] || assert_eq "$content: lines with read $n failing" "$(wc -l <err)" 1
            if [ $content = foreign ]; then
                assert_eq "status with read $n of a filesystem failing" $rc 1
                cmp "$LOOP" foreign || fail "read $n failed and the filesystem changed: $(cat err)"
            else
                datasetfsctl verify "$LOOP" one >verify.out ||
                    fail "read $n failed and the version is gone: $(cat err verify.out)"
            fi
        done
        [ $failed -gt 1 ] || fail "$content: only $failed failures were noticed"
    done
else
    say "no loop devices: devices were not tried"
fi

say "a file system that cannot tell where data lies"
mkdir sparse
head -c 300000 /dev/urandom >sparse/small
head -c 2000000 /dev/urandom >sparse/large
truncate -s 700000 sparse/small
truncate -s 5000000 sparse/large
echo end >>sparse/small
head -c 1000000 /dev/urandom >>sparse/large
pack holes sparse
digest=$(datasetfsctl list --json holes | json versions.0.digest)
fault seek 0 holes FAULT_OTHER=1 "${publish[@]}" --format holes sparse
total=$(cat count)
[ "$total" -gt 3 ] || fail "$total searches for data were counted"
for ((n = 1; n <= total; n++)); do
    fault seek $n holes FAULT_OTHER=1 "${publish[@]}" --format holes sparse
    assert_eq "status with search $n failing: $(cat err)" $rc 0
    assert_eq "digest with search $n failing" "$(datasetfsctl list --json holes | json versions.0.digest)" "$digest"
done

say "a source that tells its holes wrong"
cat >lie.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

off_t lseek(int fd, off_t at, int whence)
{
	if (whence == SEEK_DATA && !strcmp(getenv("LIE"), "data before it"))
		return 0;
	if (whence == SEEK_HOLE && !strcmp(getenv("LIE"), "a hole before it"))
		return 0;
	if (whence == SEEK_HOLE && !strcmp(getenv("LIE"), "a hole at once"))
		return at;
	return syscall(SYS_lseek, fd, at, whence);
}

off_t lseek64(int fd, off_t at, int whence) __attribute__((alias("lseek")));
END
cc -shared -fPIC -O1 -D_GNU_SOURCE lie.c -o lie.so || fail "lie.c does not compile"
for lie in "data before it" "a hole before it" "a hole at once"; do
    # KILL: without an end it does not look at signals either
    LIE=$lie timeout --signal KILL 60 env LD_PRELOAD="$PWD/lie.so" \
        mkdatasetfs --progress none --format holes sparse >out 2>err ||
        fail "$lie: $(cat err)"
    assert_eq "digest with $lie" "$(datasetfsctl list --json holes | json versions.0.digest)" "$digest"
done

say "a directory that cannot be flushed"
pack volume source --label one
fault directory 0 volume "${publish[@]}" --format --label two volume source
assert_eq "flushes of the directory" "$(cat count)" 2
pack volume source --label one --format
before=$(hash_of volume)
fault directory 1 volume "${publish[@]}" --format --label two volume source
assert_eq "status before the rename" $rc 1
assert_eq "the volume" "$(hash_of volume)" "$before"
fault directory 2 volume "${publish[@]}" --format --label two volume source
assert_eq "status after the rename" $rc 0
assert_contains "the line" "$(cat err)" \
    "the version is published, but a power loss may bring back the old volume: cannot flush"
assert_eq "the version" "$(datasetfsctl list --json volume | json versions.0.label)" two

say "a filesystem without O_TMPFILE"
cat >named.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

int openat(int folder, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if ((flags & O_TMPFILE) != O_TMPFILE)
		return (int)syscall(SYS_openat, folder, path, flags, mode);
	errno = EOPNOTSUPP;
	return -1;
}

int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));
END
cc -shared -fPIC -O1 -D_GNU_SOURCE named.c -o named.so || fail "named.c does not compile"

head -c 40M /dev/urandom >source/large
before=$(hash_of volume)
env LD_PRELOAD="$PWD/named.so" TMPDIR="$PWD/sparse" \
    mkdatasetfs --progress none --compress zstd:19 --format volume source >out 2>err &
packer=$!
# In a container a process may have the same number in every run: the name does not depend on it.
wait_for 60 test -s volume.new-mkdatasetfs || fail "it does not fill another file: $(cat err)"
kill -KILL $packer
wait $packer || true
assert_eq "the volume" "$(hash_of volume)" "$before"
assert_eq "what lies beside it" "$(echo volume.*)" volume.new-mkdatasetfs
env LD_PRELOAD="$PWD/named.so" TMPDIR="$PWD/sparse" \
    mkdatasetfs --progress none --format --label three volume source >out 2>err || fail "publish: $(cat err)"
assert_eq "the version" "$(datasetfsctl list --json volume | json versions.0.label)" three
[ ! -e volume.new-mkdatasetfs ] || fail "the new file has two names"
