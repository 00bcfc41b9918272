/* SPDX-License-Identifier: MIT */
/* Sets up the stack and the signals once for all threads that start together. */
#include "base/thread/thread.h"

#include <signal.h>
#include <string.h>

/* Does not look at the struct afterwards, because run() may have freed it. */
static void *thread_main(void *argument)
{
	const struct thread *thread = argument;

	thread->run(thread->argument);
	return NULL;
}

/* Starts threads until one fails. Returns how many started; *ret_code: errno of the failure. */
static unsigned thread_start_some(struct thread *threads, unsigned count, const struct thread_setup *setup,
				  int *ret_code)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	unsigned started = 0;

	*ret_code = pthread_attr_init(&attributes);
	if (*ret_code)
		return 0;
	if (setup->stack)
		(void)pthread_attr_setstacksize(&attributes, setup->stack);
	sigfillset(&all);
	if (setup->without_signals)
		pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; started < count && !*ret_code; started += !*ret_code) {
		threads[started].run = setup->run;
		threads[started].argument = setup->argument;
		*ret_code = pthread_create(&threads[started].id, &attributes, thread_main, &threads[started]);
		threads[started].runs = !*ret_code;
	}
	if (setup->without_signals)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return started;
}

int thread_start(struct thread *threads, unsigned count, const struct thread_setup *setup, struct error *err)
{
	int code;

	if (thread_start_some(threads, count, setup, &code) == count)
		return 0;
	return error_set(err, -code, "cannot start %s: %s", setup->what ? setup->what : "a thread", strerror(code));
}

void thread_share(struct thread *threads, unsigned count, const struct thread_setup *setup)
{
	unsigned started = 0;
	int ignored;

	if (count > 1)
		started = thread_start_some(threads, count - 1, setup, &ignored);
	setup->run(setup->argument);
	thread_join_all(threads, started);
}

void thread_join(struct thread *thread)
{
	if (thread->runs)
		pthread_join(thread->id, NULL);
	thread->runs = false;
}

void thread_join_all(struct thread *threads, unsigned count)
{
	while (count)
		thread_join(&threads[--count]);
}

void thread_detach(struct thread *thread)
{
	if (thread->runs)
		pthread_detach(thread->id);
	thread->runs = false;
}

/* pthread_timedjoin_np(3) counts in CLOCK_REALTIME. */
struct timespec thread_deadline(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += THREAD_LINGER;
	return deadline;
}

bool thread_join_until(struct thread *thread, const struct timespec *deadline)
{
	if (thread->runs && pthread_timedjoin_np(thread->id, NULL, deadline) != 0)
		return false;
	thread->runs = false;
	return true;
}

bool thread_join_soon(struct thread *thread)
{
	const struct timespec deadline = thread_deadline();

	return thread_join_until(thread, &deadline);
}
