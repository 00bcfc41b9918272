/* SPDX-License-Identifier: MIT */
/* The engine without io_uring: preadv(2) in the caller's thread, and epoll for the request descriptor. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "io/engine.h"

struct sync {
	struct engine engine;
	int *fds; /* one per member */
	uint32_t member_count;
	int epoll; /* watches the polled descriptor and wake; -1 if there is nothing to poll */
	int wake;  /* -1: none */
	void (*woken)(void *argument);
	void *woken_argument;
};

static void sync_read(struct engine *engine, struct io_read *read)
{
	struct sync *sync = (struct sync *)engine;

	read->done(read, read->member < sync->member_count ? io_read_now(sync->fds, read) : -ENXIO);
}

/* The milliseconds that a wait may last; -1: no limit. Reads complete before they return, so only a pause ends. */
static int sync_limit(const struct sync *sync, bool block)
{
	if (!block)
		return 0;
	return sync->engine.pauses ? (int)((sync->engine.timeout + 999999) / 1000000) : -1;
}

/* Waits for another thread's wake-up, or for the end of a pause. */
static int sync_wait_wake(struct sync *sync, bool block, struct error *err)
{
	struct pollfd fd = { .fd = sync->wake, .events = POLLIN };
	int n;

	if (sync->wake < 0 && !sync->engine.pauses)
		return 0;
	n = poll(&fd, 1, sync_limit(sync, block)); /* a negative descriptor is skipped */
	if (n < 0 && errno != EINTR)
		return error_errno(err, "poll");
	if (n > 0)
		sync->woken(sync->woken_argument);
	return 0;
}

static int sync_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	struct sync *sync = (struct sync *)engine;
	struct epoll_event event = { 0 };
	int n;

	*ret_readable = false;
	if (sync->epoll < 0 || !engine->polling)
		return sync_wait_wake(sync, block, err);
	n = epoll_wait(sync->epoll, &event, 1, sync_limit(sync, block));
	if (n < 0 && errno != EINTR)
		return error_errno(err, "epoll_wait");
	*ret_readable = n > 0 && event.data.fd != sync->wake;
	if (n > 0 && event.data.fd == sync->wake)
		sync->woken(sync->woken_argument);
	return 0;
}

static void sync_free(struct engine *engine)
{
	struct sync *sync = (struct sync *)engine;

	close_fd(&sync->epoll);
	free(sync->fds);
	free(sync);
}

/* Polls exclusively: an event wakes one waiting thread, not all. */
static int sync_poll(struct sync *sync, int fd, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = fd };
	struct epoll_event wake = { .events = EPOLLIN, .data.fd = sync->wake };

	sync->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (sync->epoll < 0)
		return error_errno(err, "epoll_create1");
	if (epoll_ctl(sync->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return error_errno(err, "epoll_ctl");
	if (sync->wake >= 0 && epoll_ctl(sync->epoll, EPOLL_CTL_ADD, sync->wake, &wake) < 0)
		return error_errno(err, "epoll_ctl");
	return 0;
}

int sync_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	static const struct engine_ops ops = { .read = sync_read, .wait = sync_wait, .free = sync_free };
	struct sync *sync = calloc(1, sizeof(*sync));
	int r;

	if (!sync)
		return error_no_memory(err);
	sync->engine = (struct engine){ .ops = &ops, .polling = true };
	sync->epoll = -1;
	sync->wake = setup->wake;
	sync->woken = setup->woken;
	sync->woken_argument = setup->woken_argument;
	sync->member_count = setup->member_count;
	sync->fds = calloc(setup->member_count, sizeof(*sync->fds));
	r = sync->fds ? 0 : error_no_memory(err);
	if (r == 0)
		memcpy(sync->fds, setup->volume_fds, setup->member_count * sizeof(*sync->fds));
	if (r == 0 && setup->poll_fd >= 0)
		r = sync_poll(sync, setup->poll_fd, err);
	if (r < 0) {
		sync_free(&sync->engine);
		return r;
	}
	*ret = &sync->engine;
	return 0;
}
