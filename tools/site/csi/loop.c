/* SPDX-License-Identifier: MIT */
/* Takes one event at a time from epoll(7), so a handler that ends another watch leaves no event of it behind. */
#include "csi/loop.h"

#include <errno.h>

#include "base/cleanup.h"

int loop_open(int *ret, struct error *err)
{
	*ret = epoll_create1(EPOLL_CLOEXEC);
	return *ret < 0 ? error_errno(err, "cannot wait for events") : 0;
}

static int loop_control(int loop, int operation, struct loop_watch *watch, uint32_t events, struct error *err)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };

	if (epoll_ctl(loop, operation, watch->fd, &event) < 0)
		return error_errno(err, "cannot wait for a descriptor");
	return 0;
}

int loop_add(int loop, struct loop_watch *watch, uint32_t events, struct error *err)
{
	return loop_control(loop, EPOLL_CTL_ADD, watch, events, err);
}

int loop_change(int loop, struct loop_watch *watch, uint32_t events, struct error *err)
{
	return loop_control(loop, EPOLL_CTL_MOD, watch, events, err);
}

void loop_remove(int loop, struct loop_watch *watch)
{
	if (watch->fd < 0)
		return;
	(void)epoll_ctl(loop, EPOLL_CTL_DEL, watch->fd, NULL);
	close_fd(&watch->fd);
}

int loop_step(int loop, int timeout, struct error *err)
{
	const struct loop_watch *watch;
	struct epoll_event event;
	int n = epoll_wait(loop, &event, 1, timeout);

	if (n < 0 && errno != EINTR)
		return error_errno(err, "cannot wait for events");
	if (n > 0) {
		watch = event.data.ptr;
		watch->handler(watch->argument, event.events);
	}
	return 0;
}
