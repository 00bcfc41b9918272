/* SPDX-License-Identifier: MIT */
/* Starts processes by clone(2) with our memory but outside our thread group. An abandoned knock stays until its
 * process ends, because that still writes to its memory. */
#include "io/read_probe.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/outstanding.h"
#include "io/read_probe_call.h"
#include "io/timed_read.h"

#define KNOCK_BLOCK 4096u      /* any device takes this for direct I/O */
#define KNOCK_STACK 16384u

struct knock {
	uint8_t block[KNOCK_BLOCK] __attribute__((aligned(KNOCK_BLOCK)));
	uint8_t stack[KNOCK_STACK] __attribute__((aligned(16)));
	int fd;
	struct outstanding outstanding; /* the kernel clears its runs when the process ends, and wakes waiters */
	pid_t process;
};

/* Runs with the caller's thread-local memory, so it must not use any. It closes all other files, because open ones
 * would be missed: the reader of a pipe waits for its last writer to close it. */
KNOCK_BARE static int knock_main(void *argument)
{
	struct knock *knock = argument;

	knock_call(SYS_close_range, knock->fd + 1, ~0u, 0, 0);
	if (knock->fd > 0)
		knock_call(SYS_close_range, 0, knock->fd - 1, 0, 0);
	knock_call(SYS_pread64, knock->fd, (long)knock->block, KNOCK_BLOCK, 0);
	return 0;
}

/* Frees a knock whose process has ended. */
static void knock_free(struct knock *knock)
{
	if (knock->process > 0)
		while (waitpid(knock->process, NULL, __WALL) < 0 && errno == EINTR)
			continue;
	free(knock);
}

static void knock_release(struct outstanding *outstanding)
{
	knock_free((struct knock *)((char *)outstanding - offsetof(struct knock, outstanding)));
}

/* Another name for the C library's clone(2), which ThreadSanitizer does not take for a fork. After a fork it would
 * refuse this process any more threads. */
extern int __clone(int (*run)(void *argument), void *stack, int flags, void *argument, ...);

/* Starts the process with all signals blocked, because it would run our handlers. */
static int knock_start(struct knock *knock, struct error *err)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	knock->process = __clone(knock_main, knock->stack + KNOCK_STACK, CLONE_VM | CLONE_CHILD_CLEARTID, knock, NULL,
				 NULL, &knock->outstanding.runs);
	code = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return knock->process < 0 ? error_errno(err, "cannot start a process that reads") : 0;
}

int knock_begin(int fd, struct knock **ret, struct error *err)
{
	struct outstanding outstanding;
	struct knock *knock;
	int r = outstanding_begin(OUTSTANDING_KNOCK, fd, knock_release, &outstanding, err);

	if (r < 0)
		return r;
	knock = aligned_alloc(KNOCK_BLOCK, sizeof(*knock));
	if (!knock)
		return error_no_memory(err);
	knock->fd = fd;
	knock->outstanding = outstanding;
	knock->outstanding.heeds_signals = true;
	r = knock_start(knock, err);
	if (r < 0)
		free(knock);
	else
		*ret = knock;
	return r;
}

int knock_end(struct knock *knock, int64_t patience, struct error *err)
{
	int r = outstanding_wait(&knock->outstanding, patience, err);

	if (r == 0)
		knock_free(knock);
	return r;
}
