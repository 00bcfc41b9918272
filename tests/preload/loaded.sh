#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke plain once
# libdatasetfs-preload.so brings no library but the C library and no thread into a program, and takes no memory before
# the program asks for some; calls leave errno alone.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_command cc readelf

library=$DATASETFS_BUILD/src/preload/libdatasetfs-preload.so
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | sort | tr '\n' ' ')
assert_eq "libraries that it needs" "$needed" "libc.so.6 "

cat >program.c <<'END'
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
static unsigned long requests;

/* In front of the C library's, so in front of everybody's. */
void *malloc(size_t size)
{
	requests++;
	return __libc_malloc(size);
}

static int threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = -2; /* . and .. */

	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count;
}

int main(int argc, char **argv)
{
	unsigned long at_start = requests, errors = 0;
	char bytes[100];
	struct stat st;

	for (int i = 0; i < 100; i++) {
		int fd;

		errno = 12345;
		fd = open(argv[1], O_RDONLY);
		errors += fd < 0 || errno != 12345;
		errors += fstat(fd, &st) != 0 || errno != 12345;
		errors += read(fd, bytes, 10) != 10 || read(fd, bytes, sizeof(bytes)) != 5 || errno != 12345;
		errors += lseek(fd, 3, SEEK_SET) != 3 || errno != 12345;
		errors += dup2(fd, 100) != 100 || errno != 12345;
		errors += close(fd) != 0 || errno != 12345;
	}
	printf("before main %lu, threads %d, errors %lu\n", at_start, threads(), errors);
	return argc != 2;
}
END
cc -fno-builtin-malloc -o program program.c
mkdir source && echo "fifteen letters" | tr -d '\n' >source/file
pack volume source
mount_volume volume mnt
./program mnt/file >without
: >report
env LD_PRELOAD="$library" DATASETFS_REPORT="$PWD/report" ./program mnt/file >with
assert_eq "requests for memory, threads and errors" "$(cat with)" "$(cat without)"
assert_contains "threads and errors" "$(cat with)" "threads 1, errors 0"
assert_contains "report" "$(cat report)" '"opened": 100, '
assert_eq "files that the daemon heard of" "$(stats mnt client_files)" "$(python3 -c '
import json
print(json.loads(open("report").readline())["read"])')"
assert_contains "report" "$(cat report)" '"made_real": {"dup2": 100}'
