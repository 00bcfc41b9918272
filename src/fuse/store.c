/* SPDX-License-Identifier: MIT */
/* Sends FUSE_NOTIFY_STORE to the mount's /dev/fuse, because the kernel takes none over io_uring. */
#include "fuse/store.h"

#include "fuse/notice.h"
#include "fuse/wire.h"

int store_notify(int fd, uint64_t nodeid, const void *bytes, size_t size)
{
	struct fuse_notify_store_out out = { .nodeid = nodeid, .size = (uint32_t)size };
	struct iovec iov[3] = { { 0 }, { &out, sizeof(out) }, { (void *)(uintptr_t)bytes, size } };

	return notice_write_and_wait(fd, FUSE_NOTIFY_STORE, iov, 3);
}
