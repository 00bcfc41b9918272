/* SPDX-License-Identifier: MIT */
/* Starts threads and joins them. A struct thread belongs to the thread that starts it, and is zeroed before. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/error.h"

#define THREAD_LINGER 2 /* seconds for which a thread is waited for that a stuck device may block for ever */

struct thread_setup {
	void (*run)(void *argument);
	void *argument;
	const char *what;     /* for the message, "cannot start WHAT: …"; NULL: a thread */
	size_t stack;         /* bytes; 0: as the system has it */
	bool without_signals; /* all are blocked in it, because those of the program are not for it */
};

struct thread {
	pthread_t id;
	bool runs; /* it was started, and is to be joined */
	void (*run)(void *argument);
	void *argument;
};

must_check int thread_start(struct thread *thread, const struct thread_setup *setup, struct error *err);
/* Starts all of them. On a failure those run that were started before: thread_join_all() joins them. */
must_check int thread_start_all(struct thread *threads, unsigned count, const struct thread_setup *setup,
				struct error *err);
/* Runs setup->run() in count threads, or in fewer if the system gives no more. The calling one is among them in any
 * case. Returns when all have ended. */
void thread_share(struct thread *threads, unsigned count, const struct thread_setup *setup);

/* The functions below do nothing with a thread that does not run. */
void thread_join(struct thread *thread);
void thread_join_all(struct thread *threads, unsigned count);
/* Leaves the thread alone: nobody joins it, and its struct may go when its run() says so. */
void thread_detach(struct thread *thread);
/* Waits like thread_join(), but only THREAD_LINGER seconds. False: it still runs, and all it uses must stay. */
bool thread_join_soon(struct thread *thread);
/* Joins several threads under one common deadline: make it once, then pass it for each thread. */
struct timespec thread_deadline(void);
bool thread_join_until(struct thread *thread, const struct timespec *deadline);
