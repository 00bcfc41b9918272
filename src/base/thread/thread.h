/* SPDX-License-Identifier: MIT */
/* Starts threads and joins them. A struct thread belongs to the thread that starts it, and is zeroed before. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/error.h"

#define THREAD_LINGER 2 /* seconds to wait for a thread that a stuck device may block for ever */

struct thread_setup {
	void (*run)(void *argument);
	void *argument;
	const char *what;     /* the thread's name in the message "cannot start WHAT: …"; NULL: "a thread" */
	size_t stack;         /* bytes; 0: the system's default */
	bool without_signals; /* the thread blocks all signals, so that other threads get the program's */
};

struct thread {
	pthread_t id;
	bool runs; /* it was started and must be joined */
	void (*run)(void *argument);
	void *argument;
};

/* Starts count threads. On failure the ones that were started before run on: thread_join_all() joins them. */
must_check int thread_start(struct thread *threads, unsigned count, const struct thread_setup *setup,
			    struct error *err);
/* Runs setup->run() in count threads, the calling one among them, or in fewer if the system cannot start so many.
 * Returns when all have ended. */
void thread_share(struct thread *threads, unsigned count, const struct thread_setup *setup);

/* The functions below do nothing with a thread that does not run. */
void thread_join(struct thread *thread);
void thread_join_all(struct thread *threads, unsigned count);
/* Detaches the thread: it is never joined, and its run() may free its struct. */
void thread_detach(struct thread *thread);
/* Waits like thread_join(), but only THREAD_LINGER seconds. False: the thread still runs, and everything that it uses
 * must stay. */
bool thread_join_soon(struct thread *thread);
/* Returns the time THREAD_LINGER seconds from now, a common deadline for several calls of thread_join_until(), which
 * joins like thread_join_soon(). */
struct timespec thread_deadline(void);
bool thread_join_until(struct thread *thread, const struct timespec *deadline);
