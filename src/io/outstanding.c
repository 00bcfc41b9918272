/* SPDX-License-Identifier: MIT */
/* Keeps a list of abandoned reads for each kind, all under one lock. A forked child begins with empty lists: it never
 * sees the parent's reads come back. */
#include "io/outstanding.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program/interrupt.h"
#include "io/site.h"

#define OUTSTANDING_LOOK 100000000 /* ns between two checks for a signal that another thread received */

static pthread_mutex_t outstanding_lock = PTHREAD_MUTEX_INITIALIZER;
static struct outstanding *outstanding_abandoned[OUTSTANDING_KINDS]; /* under the lock */
static pthread_once_t outstanding_once = PTHREAD_ONCE_INIT;

static void outstanding_before_fork(void)
{
	pthread_mutex_lock(&outstanding_lock);
}

static void outstanding_after_fork(void)
{
	pthread_mutex_unlock(&outstanding_lock);
}

static void outstanding_in_child(void)
{
	memset(outstanding_abandoned, 0, sizeof(outstanding_abandoned));
	pthread_mutex_unlock(&outstanding_lock);
}

static void outstanding_watch_forks(void)
{
	(void)pthread_atfork(outstanding_before_fork, outstanding_after_fork, outstanding_in_child);
}

static bool outstanding_runs(const struct outstanding *read)
{
	return __atomic_load_n(&read->runs, __ATOMIC_ACQUIRE);
}

/* Whether an abandoned read is still out at the file. Frees those that have come back. */
static bool outstanding_is_out(enum outstanding_kind kind, const struct stat *st,
			       void (*release)(struct outstanding *read))
{
	struct outstanding **link = &outstanding_abandoned[kind], *read;
	bool is_out = false;

	pthread_mutex_lock(&outstanding_lock);
	while ((read = *link)) {
		if (!outstanding_runs(read)) {
			*link = read->next;
			release(read);
			continue;
		}
		is_out |= site_is_same(&read->st, st);
		link = &read->next;
	}
	pthread_mutex_unlock(&outstanding_lock);
	return is_out;
}

int outstanding_begin(enum outstanding_kind kind, int fd, void (*release)(struct outstanding *read),
		      struct outstanding *ret, struct error *err)
{
	struct stat st;

	pthread_once(&outstanding_once, outstanding_watch_forks);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	if (outstanding_is_out(kind, &st, release))
		return error_set(err, -ETIMEDOUT, "an earlier read has not been answered yet");
	*ret = (struct outstanding){ .kind = kind, .st = st, .since = clock_now(), .runs = 1 };
	return 0;
}

/* Abandons the read. False: it has come back. */
static bool outstanding_abandon(struct outstanding *read)
{
	bool runs;

	pthread_mutex_lock(&outstanding_lock);
	runs = outstanding_runs(read);
	if (runs) {
		read->is_abandoned = true;
		read->next = outstanding_abandoned[read->kind];
		outstanding_abandoned[read->kind] = read;
	}
	pthread_mutex_unlock(&outstanding_lock);
	return runs;
}

/* Sleeps until the read comes back, for ns at most, or until a signal. */
static void outstanding_sleep(const struct outstanding *read, int64_t ns)
{
	const struct timespec limit = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	syscall(SYS_futex, &read->runs, FUTEX_WAIT, 1, &limit, NULL, 0);
}

static int outstanding_check(bool heeds_signals, struct error *err)
{
	return heeds_signals ? interrupt_check(err) : 0;
}

int outstanding_wait(struct outstanding *read, int64_t patience, struct error *err)
{
	int64_t until = read->since + patience, left;
	bool heeds_signals = read->heeds_signals; /* an abandoned read may be freed at once */
	int r;

	while (outstanding_runs(read) && (left = until - clock_now()) > 0 &&
	       outstanding_check(heeds_signals, NULL) == 0)
		outstanding_sleep(read, left < OUTSTANDING_LOOK ? left : OUTSTANDING_LOOK);
	if (!outstanding_abandon(read))
		return 0;
	r = outstanding_check(heeds_signals, err);
	return r < 0 ? r : error_set(err, -ETIMEDOUT, "no answer to a read for %.3g seconds", (double)patience / 1e9);
}

/* Requires the lock. */
static void outstanding_unlink(const struct outstanding *read)
{
	struct outstanding **link = &outstanding_abandoned[read->kind];

	while (*link != read)
		link = &(*link)->next;
	*link = read->next;
}

bool outstanding_end(struct outstanding *read)
{
	bool is_abandoned;

	pthread_mutex_lock(&outstanding_lock);
	__atomic_store_n(&read->runs, 0, __ATOMIC_RELEASE);
	is_abandoned = read->is_abandoned;
	if (is_abandoned)
		outstanding_unlink(read);
	else
		syscall(SYS_futex, &read->runs, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_mutex_unlock(&outstanding_lock);
	return is_abandoned;
}
