/* SPDX-License-Identifier: MIT */
/* Starts processes by clone(2) with our memory but outside our thread group. An abandoned probe stays until its
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

#include "base/direct.h"
#include "io/outstanding.h"
#include "io/read_probe_call.h"
#include "io/timed_read.h"

#define READ_PROBE_STACK 16384u

struct read_probe {
	uint8_t block[DIRECT_ALIGN] __attribute__((aligned(DIRECT_ALIGN)));
	uint8_t stack[READ_PROBE_STACK] __attribute__((aligned(16)));
	int fd;
	struct outstanding outstanding; /* the kernel clears its runs when the process ends, and wakes waiters */
	pid_t process;
};

/* Runs with the caller's thread-local memory, so it must not use any. It closes all other files, because open ones
 * would be missed: the reader of a pipe waits for its last writer to close it. */
READ_PROBE_BARE static int read_probe_main(void *argument)
{
	struct read_probe *probe = argument;

	read_probe_call(SYS_close_range, probe->fd + 1, ~0u, 0, 0);
	if (probe->fd > 0)
		read_probe_call(SYS_close_range, 0, probe->fd - 1, 0, 0);
	read_probe_call(SYS_pread64, probe->fd, (long)probe->block, DIRECT_ALIGN, 0);
	return 0;
}

/* Frees a probe whose process has ended. */
static void read_probe_free(struct read_probe *probe)
{
	if (probe->process > 0)
		while (waitpid(probe->process, NULL, __WALL) < 0 && errno == EINTR)
			continue;
	free(probe);
}

static void read_probe_release(struct outstanding *outstanding)
{
	read_probe_free((struct read_probe *)((char *)outstanding - offsetof(struct read_probe, outstanding)));
}

/* Another name for the C library's clone(2), which ThreadSanitizer does not take for a fork. After a fork it would
 * refuse this process any more threads. */
extern int __clone(int (*run)(void *argument), void *stack, int flags, void *argument, ...);

/* Starts the process with all signals blocked, because it would run our handlers. */
static int read_probe_start(struct read_probe *probe, struct error *err)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	probe->process = __clone(read_probe_main, probe->stack + READ_PROBE_STACK, CLONE_VM | CLONE_CHILD_CLEARTID,
				 probe, NULL, NULL, &probe->outstanding.runs);
	code = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return probe->process < 0 ? error_errno(err, "cannot start a process that reads") : 0;
}

int read_probe_begin(int fd, struct read_probe **ret, struct error *err)
{
	struct outstanding outstanding;
	struct read_probe *probe;
	int r = outstanding_begin(OUTSTANDING_PROBE, fd, read_probe_release, &outstanding, err);

	if (r < 0)
		return r;
	probe = aligned_alloc(DIRECT_ALIGN, sizeof(*probe));
	if (!probe)
		return error_no_memory(err);
	probe->fd = fd;
	probe->outstanding = outstanding;
	probe->outstanding.heeds_signals = true;
	r = read_probe_start(probe, err);
	if (r < 0)
		free(probe);
	else
		*ret = probe;
	return r;
}

int read_probe_end(struct read_probe *probe, int64_t patience, struct error *err)
{
	int r = outstanding_wait(&probe->outstanding, patience, err);

	if (r == 0)
		read_probe_free(probe);
	return r;
}
