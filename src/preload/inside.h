/* SPDX-License-Identifier: MIT */
/* Between inside_enter() and inside_leave() the calls of this thread are our own: hooks hand them on as they
 * are. errno stays what it was, and the thread is not cancelled in the middle of what it holds. */
#pragma once
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

struct inside {
	int code; /* errno, to be restored; may be set */
	int cancel;
};

extern __thread bool inside_is __attribute__((tls_model("initial-exec")));

/* False: this thread is inside already. */
static inline bool inside_enter(struct inside *inside)
{
	if (inside_is)
		return false;
	inside->code = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &inside->cancel);
	inside_is = true;
	return true;
}

static inline void inside_leave(const struct inside *inside)
{
	inside_is = false;
	pthread_setcancelstate(inside->cancel, NULL);
	errno = inside->code;
}
