/* SPDX-License-Identifier: MIT */
/* Builds the notifications. */
#include "fuse/invalidate.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "fuse/notice.h"
#include "fuse/wire.h"

static int invalidate_write(int fd, int code, struct iovec *iov, int count, const char *what, struct error *err)
{
	int r = notice_write_and_wait(fd, code, iov, count);

	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return error_set(err, r, "cannot notify the kernel of %s: %s", what, strerror(-r));
	return 0;
}

int invalidate_epoch(int fd, struct error *err)
{
	struct iovec iov[1];

	return invalidate_write(fd, WIRE_NOTIFY_INC_EPOCH, iov, 1, "a new epoch", err);
}

int invalidate_prune(int fd, const uint64_t *nodes, uint32_t count, struct error *err)
{
	struct wire_notify_prune out = { .count = count };
	struct iovec iov[3] = { { 0 }, { &out, sizeof(out) }, { (void *)(uintptr_t)nodes, count * sizeof(*nodes) } };

	return invalidate_write(fd, WIRE_NOTIFY_PRUNE, iov, 3, "nodes to drop", err);
}

int invalidate_inode(int fd, uint64_t nodeid, struct error *err)
{
	struct fuse_notify_inval_inode_out out = { .ino = nodeid };
	struct iovec iov[2] = { { 0 }, { &out, sizeof(out) } };

	return invalidate_write(fd, FUSE_NOTIFY_INVAL_INODE, iov, 2, "a changed node", err);
}

int invalidate_entry(int fd, uint64_t directory, const char *name, size_t length, struct error *err)
{
	struct fuse_notify_inval_entry_out out = { .parent = directory, .namelen = (uint32_t)length };
	struct iovec iov[4] = { { 0 }, { &out, sizeof(out) }, { (void *)(uintptr_t)name, length }, { "", 1 } };

	return invalidate_write(fd, FUSE_NOTIFY_INVAL_ENTRY, iov, 4, "a changed name", err);
}
