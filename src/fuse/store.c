/* SPDX-License-Identifier: MIT */
/* FUSE_NOTIFY_STORE; over io_uring the kernel takes none, so it goes to the mount's /dev/fuse. */
#include "fuse/store.h"

#include "fuse/notice.h"
#include "fuse/wire.h"

int store_file(int fd, uint64_t nodeid, const void *bytes, size_t size)
{
	struct fuse_notify_store_out out = { .nodeid = nodeid, .size = (uint32_t)size };
	struct iovec iov[3] = { { 0 }, { &out, sizeof(out) }, { (void *)(uintptr_t)bytes, size } };

	return notice_write(fd, FUSE_NOTIFY_STORE, iov, 3);
}
