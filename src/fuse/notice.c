/* SPDX-License-Identifier: MIT */
/* Writes a notification: a reply header with unique 0 and the notification's code as its error. */
#include "fuse/notice.h"

#include <errno.h>

#include "fuse/wire.h"

static _Atomic uint32_t notice_nowhere;
static _Atomic uint32_t *notice_place = &notice_nowhere;

int notice_write(int fd, int code, struct iovec *iov, int count)
{
	struct fuse_out_header header = { .error = code };
	size_t length = sizeof(header);
	ssize_t n;

	iov[0] = (struct iovec){ &header, sizeof(header) };
	for (int i = 1; i < count; i++)
		length += iov[i].iov_len;
	header.len = (uint32_t)length;
	do
		n = writev(fd, iov, count);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int notice_write_and_wait(int fd, int code, struct iovec *iov, int count)
{
	int r;

	atomic_fetch_add(notice_place, 1);
	r = notice_write(fd, code, iov, count);
	atomic_fetch_sub(notice_place, 1);
	return r;
}

void notice_count(_Atomic uint32_t *place)
{
	notice_place = place ? place : &notice_nowhere;
}
