/* SPDX-License-Identifier: MIT */
/* Preloaded into the daemon: what it tells the kernel of names and nodes over /dev/fuse.
 *   NOTIFY_HOLD    while this file is there, a name of a version, or nodes, are not told: the caller waits, as it would
 *                  for the lock of a directory
 *   NOTIFY_HELD    a file that is made when one waits
 *   NOTIFY_REFUSE  the code of a notification that fails with EINVAL, as in kernels that do not know it
 *   NOTIFY_HURRY   the time for which an answer to a look-up holds, unless it is for ever, is divided by this */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PRUNE 9 /* FUSE_NOTIFY_PRUNE */

static int refused;
static uint64_t hurry;

__attribute__((constructor)) static void hold_init(void)
{
	const char *code = getenv("NOTIFY_REFUSE"), *divisor = getenv("NOTIFY_HURRY");

	refused = code ? atoi(code) : 0;
	hurry = divisor ? strtoull(divisor, NULL, 10) : 0;
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

/* An answer to a look-up, by its length and by what a file's bytes or an attribute of that length would hardly be: a
 * node, and at most a day in whole seconds. */
static bool hold_is_entry(const struct iovec *iov, int count, struct fuse_entry_out *ret)
{
	const struct fuse_out_header *header = iov->iov_base;

	if (count != 2 || iov->iov_len != sizeof(*header) || !header->unique || iov[1].iov_len != sizeof(*ret))
		return false;
	memcpy(ret, iov[1].iov_base, sizeof(*ret));
	return ret->nodeid && ret->entry_valid <= 86400 && !ret->entry_valid_nsec && !ret->attr_valid_nsec;
}

static void hold_hurry(struct fuse_entry_out *entry)
{
	entry->entry_valid_nsec = (uint32_t)(entry->entry_valid % hurry * 1000000000 / hurry);
	entry->entry_valid /= hurry;
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	static ssize_t (*next)(int, const struct iovec *, int);
	int code = hold_code(iov, count);
	struct fuse_entry_out entry;

	if (!next)
		next = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
	if (code && code == refused) {
		errno = EINVAL;
		return -1;
	}
	if (code == PRUNE || (code && hold_is_name(code, iov)))
		hold_wait();
	if (hurry && hold_is_entry(iov, count, &entry)) {
		hold_hurry(&entry);
		return next(fd, (struct iovec[]){ iov[0], { &entry, sizeof(entry) } }, count);
	}
	return next(fd, iov, count);
}
