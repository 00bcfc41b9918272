/* SPDX-License-Identifier: MIT */
/* Preloaded: the process stops itself (SIGSTOP) just before it closes the file STOP_AT_CLOSE,
 * if STOP_WHILE is there. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool stop_is_meant(int fd)
{
	const char *path = getenv("STOP_AT_CLOSE"), *only_while = getenv("STOP_WHILE");
	struct stat st, meant;

	return path && only_while && access(only_while, F_OK) == 0 && fstat(fd, &st) == 0 && stat(path, &meant) == 0 &&
	       st.st_dev == meant.st_dev && st.st_ino == meant.st_ino;
}

int close(int fd)
{
	static int (*next)(int);

	if (!next)
		next = (int (*)(int))dlsym(RTLD_NEXT, "close");
	if (stop_is_meant(fd))
		raise(SIGSTOP);
	return next(fd);
}
