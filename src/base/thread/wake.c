/* SPDX-License-Identifier: MIT */
/* Wake-ups by a non-blocking eventfd(2). */
#include "base/thread/wake.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"

int wake_open(struct wake *wake, struct error *err)
{
	wake->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return wake->fd < 0 ? error_errno(err, "cannot create an eventfd") : 0;
}

void wake_close(struct wake *wake)
{
	close_fd(&wake->fd);
}

/* EAGAIN means 2^64 - 1 wake-ups are pending, so the thread will wake anyway. */
void wake_up(const struct wake *wake)
{
	const uint64_t one = 1;
	ssize_t n;

	if (!wake)
		return;
	n = write(wake->fd, &one, sizeof(one));
	assert(n == sizeof(one) || errno == EAGAIN);
	(void)n;
}

uint64_t wake_take(const struct wake *wake)
{
	uint64_t count;

	return read(wake->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* A signal may end the wait early. That is harmless, because callers check for work after every wait. */
void wake_wait(const struct wake *wake, int timeout)
{
	struct pollfd fd = { .fd = wake->fd, .events = POLLIN };

	if (poll(&fd, 1, timeout) > 0)
		wake_take(wake);
}
