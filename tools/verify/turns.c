/* SPDX-License-Identifier: MIT */
/* Counts parts under a lock. After a failure no thread takes another part, so `next` stays at the first part that is
 * not done. A failure takes precedence over a signal. */
#include "verify/turns.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program/interrupt.h"
#include "base/thread/thread.h"

#define TURNS_STEP INT64_C(200000000) /* nanoseconds between two pictures of the progress */

unsigned turns_default_jobs(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 4 ? 4 : cpus > 32 ? 32 : (unsigned)cpus;
}

int turns_share(struct turns *turns, unsigned jobs, void (*work)(void *argument), void *argument, struct error *err)
{
	const struct thread_setup setup = { .run = work, .argument = argument };
	struct thread threads[TURNS_JOBS_MAX];

	pthread_mutex_init(&turns->lock, NULL);
	turns->shown = clock_now();
	thread_share(threads, jobs < TURNS_JOBS_MAX ? jobs : TURNS_JOBS_MAX, &setup);
	pthread_mutex_destroy(&turns->lock);
	return turns->err.code ? error_pass(err, turns->err.code, &turns->err) : 0;
}

void turns_fail(struct turns *turns, uint64_t first, const struct error *err)
{
	pthread_mutex_lock(&turns->lock);
	if (!turns->err.code || turns->err.code == -EINTR)
		turns->err = *err;
	if (first < turns->next)
		turns->next = first;
	pthread_mutex_unlock(&turns->lock);
}

bool turns_begin(struct turns *turns)
{
	pthread_mutex_lock(&turns->lock);
	return !turns->err.code && turns->next < turns->end && interrupt_check(&turns->err) == 0;
}

bool turns_show(struct turns *turns)
{
	bool is_due = clock_now() - turns->shown >= TURNS_STEP;

	if (is_due)
		turns->shown = clock_now();
	return is_due;
}

void turns_end(struct turns *turns, uint64_t taken)
{
	turns->next += taken;
	pthread_mutex_unlock(&turns->lock);
}
