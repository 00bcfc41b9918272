/* SPDX-License-Identifier: MIT */
/* Preloaded into the daemon: what it tells the kernel of names and nodes.
 *   NOTIFY_HOLD    while this file is there, a name of a version, or nodes, are not told: the caller waits, as it would for the
 *                  lock of a directory
 *   NOTIFY_HELD    a file that is made when one waits
 *   NOTIFY_REFUSE  the code of a notification that fails with EINVAL, as in kernels that do not know it */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PRUNE 9 /* FUSE_NOTIFY_PRUNE */

static int refused;

__attribute__((constructor)) static void hold_init(void)
{
	const char *code = getenv("NOTIFY_REFUSE");

	refused = code ? atoi(code) : 0;
}

/* 0: an answer to a request. */
static int hold_code(const struct iovec *iov, int count)
{
	const struct fuse_out_header *header = iov->iov_base;

	return count > 1 && iov->iov_len == sizeof(*header) && !header->unique ? header->error : 0;
}

/* The one name that is told for the sake of the lock begins with '.': those of the tests do not. */
static bool hold_is_name(int code, const struct iovec *iov)
{
	return code == FUSE_NOTIFY_INVAL_ENTRY && *(const char *)iov[2].iov_base != '.';
}

static void hold_wait(void)
{
	const char *hold = getenv("NOTIFY_HOLD"), *held = getenv("NOTIFY_HELD");

	if (!hold || access(hold, F_OK) < 0)
		return;
	if (held)
		close(open(held, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	while (access(hold, F_OK) == 0)
		usleep(10000);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	static ssize_t (*next)(int, const struct iovec *, int);
	int code = hold_code(iov, count);

	if (!next)
		next = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
	if (code && code == refused) {
		errno = EINVAL;
		return -1;
	}
	if (code == PRUNE || (code && hold_is_name(code, iov)))
		hold_wait();
	return next(fd, iov, count);
}
