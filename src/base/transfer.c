/* SPDX-License-Identifier: MIT */
/* One loop for reads and one for writes. An offset of NOWHERE means the file's own position. */
#include "base/transfer.h"

#include <errno.h>
#include <unistd.h>

#define NOWHERE UINT64_MAX

ssize_t transfer_read_at(int fd, void *buffer, size_t length, uint64_t offset)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < length && n != 0) {
		uint8_t *to = (uint8_t *)buffer + done;

		n = offset == NOWHERE ? read(fd, to, length - done) :
					pread(fd, to, length - done, (off_t)(offset + done));
		if (n < 0 && errno != EINTR)
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

int transfer_write_at(int fd, const void *buffer, size_t length, uint64_t offset)
{
	size_t done = 0;
	ssize_t n;

	while (done < length) {
		const uint8_t *from = (const uint8_t *)buffer + done;

		n = offset == NOWHERE ? write(fd, from, length - done) :
					pwrite(fd, from, length - done, (off_t)(offset + done));
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
	return transfer_read_at(fd, buffer, length, NOWHERE);
}

int transfer_write(int fd, const void *buffer, size_t length)
{
	return transfer_write_at(fd, buffer, length, NOWHERE);
}
