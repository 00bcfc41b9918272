/* SPDX-License-Identifier: MIT */
/* Marks calls as our own: between inside_enter() and inside_leave() the hooks pass this thread's calls on unchanged.
 * errno is preserved, and the thread cannot be cancelled meanwhile, as it may hold locks. */
#pragma once
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

struct inside {
	int code; /* errno to restore; may be set */
	int cancel;
};

extern __thread bool inside_is __attribute__((tls_model("initial-exec")));

/* Enters our own code; false: this thread is inside already. */
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
