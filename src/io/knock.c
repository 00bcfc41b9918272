/* SPDX-License-Identifier: MIT */
/* Starts processes by clone(2) with our memory but outside our thread group. An abandoned knock stays in a list
 * until its process ends, because that still writes to its memory. */
#include "io/knock.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program/interrupt.h"
#include "io/bounded.h"
#include "io/knock_call.h"
#include "io/site.h"

#define KNOCK_BLOCK 4096u      /* any device takes this for direct I/O */
#define KNOCK_STACK 16384u
#define KNOCK_LOOK  100000000 /* ns between two checks for a signal that another thread received */

struct knock {
	uint8_t block[KNOCK_BLOCK] __attribute__((aligned(KNOCK_BLOCK)));
	uint8_t stack[KNOCK_STACK] __attribute__((aligned(16)));
	int fd;
	struct stat st; /* identity of the file */
	int64_t since;
	pid_t process;
	pid_t running;      /* 1; the kernel clears it when the process ends, and wakes waiters */
	struct knock *next; /* in the list of abandoned knocks, under the lock */
};

static pthread_mutex_t knock_lock = PTHREAD_MUTEX_INITIALIZER;
static struct knock *knock_left;
static pthread_once_t knock_once = PTHREAD_ONCE_INIT;

static void knock_before_fork(void)
{
	pthread_mutex_lock(&knock_lock);
}

static void knock_after_fork(void)
{
	pthread_mutex_unlock(&knock_lock);
}

/* The parent's knocks are pending in the parent's memory; a child would never see them end. */
static void knock_in_child(void)
{
	knock_left = NULL;
	pthread_mutex_unlock(&knock_lock);
}

static void knock_watch_forks(void)
{
	(void)pthread_atfork(knock_before_fork, knock_after_fork, knock_in_child);
}

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

static bool knock_is_running(const struct knock *knock)
{
	return __atomic_load_n(&knock->running, __ATOMIC_ACQUIRE);
}

/* Frees a knock whose process has ended. */
static void knock_free(struct knock *knock)
{
	if (knock->process > 0)
		while (waitpid(knock->process, NULL, __WALL) < 0 && errno == EINTR)
			continue;
	free(knock);
}

/* True if an earlier knock at the same file is still pending. Frees the ones that have ended. */
static bool knock_is_out(const struct stat *st)
{
	struct knock **link = &knock_left, *knock;
	bool is_out = false;

	pthread_mutex_lock(&knock_lock);
	while ((knock = *link)) {
		if (!knock_is_running(knock)) {
			*link = knock->next;
			knock_free(knock);
			continue;
		}
		is_out |= site_is_same(&knock->st, st);
		link = &knock->next;
	}
	pthread_mutex_unlock(&knock_lock);
	return is_out;
}

static void knock_leave(struct knock *knock)
{
	pthread_mutex_lock(&knock_lock);
	knock->next = knock_left;
	knock_left = knock;
	pthread_mutex_unlock(&knock_lock);
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
	knock->running = 1;
	knock->process = __clone(knock_main, knock->stack + KNOCK_STACK, CLONE_VM | CLONE_CHILD_CLEARTID, knock, NULL,
				 NULL, &knock->running);
	code = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return knock->process < 0 ? error_errno(err, "cannot start a process that reads") : 0;
}

int knock_begin(int fd, struct knock **ret, struct error *err)
{
	struct knock *knock;
	struct stat st;
	int r;

	pthread_once(&knock_once, knock_watch_forks);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	if (knock_is_out(&st))
		return error_set(err, -ETIMEDOUT, "an earlier read has not been answered yet");
	knock = aligned_alloc(KNOCK_BLOCK, sizeof(*knock));
	if (!knock)
		return error_no_memory(err);
	knock->fd = fd;
	knock->st = st;
	knock->since = clock_now();
	r = knock_start(knock, err);
	if (r < 0)
		free(knock);
	else
		*ret = knock;
	return r;
}

/* Sleeps until the process ends, for ns at most, or until a signal. */
static void knock_sleep(const struct knock *knock, int64_t ns)
{
	const struct timespec limit = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	syscall(SYS_futex, &knock->running, FUTEX_WAIT, 1, &limit, NULL, 0);
}

int knock_end(struct knock *knock, int64_t patience, struct error *err)
{
	int64_t until = knock->since + patience, left;
	int r = 0;

	while (r == 0 && knock_is_running(knock) && (left = until - clock_now()) > 0) {
		knock_sleep(knock, left < KNOCK_LOOK ? left : KNOCK_LOOK);
		r = interrupt_check(err);
	}
	if (!knock_is_running(knock)) {
		knock_free(knock);
		return r;
	}
	knock_leave(knock);
	return r < 0 ? r : error_set(err, -ETIMEDOUT, "no answer to a read for %.3g seconds", (double)patience / 1e9);
}
