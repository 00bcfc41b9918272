/* SPDX-License-Identifier: MIT */
/* Preloaded into the packer: puts something else in the place of a file or directory of the source, at a given moment.
 *   SWAP_WHEN  when this name is about to be opened for the first time
 *   SWAP_PATH  what goes, to SWAP_OLD; SWAP_NAME is its last component
 *   SWAP_WITH  what comes
 * The process ends with status 98 when it opens SWAP_NAME later than that and gets neither a file nor a directory. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_bool swapped;

static bool swap_is(const char *name, const char *variable)
{
	const char *value = getenv(variable);

	return value && !strcmp(name, value);
}

static void swap(void)
{
	if (rename(getenv("SWAP_PATH"), getenv("SWAP_OLD")) == 0 &&
	    rename(getenv("SWAP_WITH"), getenv("SWAP_PATH")) == 0)
		return;
	perror("swap");
	_exit(97);
}

static int swap_open(int dir, const char *name, int flags, mode_t mode)
{
	static int (*real)(int dir, const char *name, int flags, ...);
	bool later = swapped;
	struct stat st;
	int fd;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "openat");
	if (swap_is(name, "SWAP_WHEN") && !atomic_exchange(&swapped, true))
		swap();
	fd = real(dir, name, flags, mode);
	if (fd >= 0 && later && swap_is(name, "SWAP_NAME") && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) &&
	    !S_ISDIR(st.st_mode))
		_exit(98);
	return fd;
}

int openat(int dir, const char *name, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return swap_open(dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...) __attribute__((alias("openat")));
