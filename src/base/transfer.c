/* SPDX-License-Identifier: MIT */
/* One loop for reads and one for writes. An offset of NOWHERE means the file's own position. */
#include "base/transfer.h"

#include <errno.h>
#include <unistd.h>

#define NOWHERE UINT64_MAX

static ssize_t transfer_in(int fd, uint8_t *buffer, size_t length, uint64_t offset)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < length && n != 0) {
		n = offset == NOWHERE ? read(fd, buffer + done, length - done) :
					pread(fd, buffer + done, length - done, (off_t)(offset + done));
		if (n < 0 && errno != EINTR)
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

static int transfer_out(int fd, const uint8_t *buffer, size_t length, uint64_t offset)
{
	size_t done = 0;
	ssize_t n;

	while (done < length) {
		n = offset == NOWHERE ? write(fd, buffer + done, length - done) :
					pwrite(fd, buffer + done, length - done, (off_t)(offset + done));
		if (n == 0)
			errno = EIO;
		if (n == 0 || (n < 0 && errno != EINTR))
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

ssize_t transfer_read(int fd, void *buffer, size_t length)
{
	return transfer_in(fd, buffer, length, NOWHERE);
}

ssize_t transfer_read_at(int fd, void *buffer, size_t length, uint64_t offset)
{
	return transfer_in(fd, buffer, length, offset);
}

int transfer_write(int fd, const void *buffer, size_t length)
{
	return transfer_out(fd, buffer, length, NOWHERE);
}

int transfer_write_at(int fd, const void *buffer, size_t length, uint64_t offset)
{
	return transfer_out(fd, buffer, length, offset);
}
