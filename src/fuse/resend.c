/* SPDX-License-Identifier: MIT */
/* Sends FUSE_NOTIFY_RESEND, which has no argument. */
#include "fuse/resend.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "fuse/notice.h"
#include "fuse/wire.h"

int resend_all(int fd, struct error *err)
{
	struct iovec iov[1];
	int r = notice_write(fd, WIRE_NOTIFY_RESEND, iov, 1);

	return r < 0 && r != -ENODEV ? error_set(err, r, "cannot have requests sent again: %s", strerror(-r)) : 0;
}
