#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once
# A chain of nested folders: what packing it takes grows with its depth, not with the square of it,
# and paths may be longer than the kernel takes in one piece.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command cc

cat >count.c <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long opens;

int openat(int dir, const char *name, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	opens++;
	return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat"))(dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...) __attribute__((alias("openat")));

__attribute__((destructor)) static void count(void)
{
	FILE *file = fopen(getenv("COUNT"), "w");

	fprintf(file, "%ld\n", opens);
	fclose(file);
}
END
cc -shared -fPIC -O1 -D_GNU_SOURCE count.c -o count.so || fail "count.c does not compile"

# chains DEPTH COUNT: side by side, with a file at the end of each; their paths in the list
chains() {
    python3 - "$1" "$2" <<'END'
import os, sys
depth, count = map(int, sys.argv[1:])
os.mkdir("source")
with open("list", "w") as paths:
    for chain in range(count):
        fd = os.open("source", os.O_RDONLY)
        path = []
        for level in range(depth):
            name = f"chain-{chain}-{level:05}"
            os.mkdir(name, dir_fd=fd)
            below = os.open(name, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
            path.append(name)
            paths.write("/".join(path) + "\n")
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd))
        os.close(fd)
        paths.write("/".join(path) + "/file\n")
END
}

# opened DEPTH CHAINS [OPTIONS…]: no more than once for each directory and file, and some hundred besides
opened() {
    local least=$(($1 * $2))
    env COUNT="$PWD/count" LD_PRELOAD="$PWD/count.so" \
        mkdatasetfs --progress none --format "${@:3}" volume source >pack.log ||
        fail "pack $*"
    [ "$(cat count)" -ge "$least" ] || fail "$(cat count) opens were counted of $least directories"
    [ "$(cat count)" -le $((least + 300)) ] || fail "$(cat count) opens for $least directories: ${*:3}"
    assert_eq "directories" "$(datasetfsctl list --json volume | json versions.0.directories)" $((least + 1))
}

for shape in "1200 1" "60 20"; do
    # shellcheck disable=SC2086
    set -- $shape
    say "$2 chains of $1 folders"
    chains "$@"
    opened "$@"
    digest=$(datasetfsctl list --json volume | json versions.0.digest)
    opened "$@" --from-list list
    assert_eq "digest by the list" "$(datasetfsctl list --json volume | json versions.0.digest)" "$digest"
    datasetfsctl verify volume >/dev/null || fail "verify"
    deepest=$(tail -n 1 list)
    assert_contains "the file at the end" "$(datasetfsctl stat volume "$deepest")" "size     0 bytes"
    assert_eq "the folders above it in the dump" "$(datasetfsctl dump --json volume | tail -n 1 | tr -cd / | wc -c)" \
        "$(("$(tr -cd / <<<"$deepest" | wc -c)" + 1))"
    rm -rf source volume
done
