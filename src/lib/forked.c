/* SPDX-License-Identifier: MIT */
/* Detects a fork by a word in a page that the kernel zeroes in a child, whichever call made the child. */
#include "lib/forked.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FORKED_UNSEEN, FORKED_LOOKING, FORKED_SEEN };

static _Atomic uint32_t *word; /* FORKED_* */
static _Atomic uint64_t generation = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t forking; /* the generation in which the thread that forks took the lock */
static void (*_Atomic child_hook)(void);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int watch_failure;

/* Begins a generation, in one thread: a child may have started several before one of them gets here. */
static void forked_arrive(void)
{
	uint32_t seen = FORKED_UNSEEN;

	if (atomic_compare_exchange_strong(word, &seen, FORKED_LOOKING)) {
		lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* its holder is not in this process */
		atomic_fetch_add(&generation, 1);
		atomic_store(word, FORKED_SEEN);
		return;
	}
	while (atomic_load(word) != FORKED_SEEN)
		sched_yield();
}

uint64_t forked_generation(void)
{
	if (__builtin_expect(atomic_load_explicit(word, memory_order_acquire) != FORKED_SEEN, 0))
		forked_arrive();
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

void forked_lock(void)
{
	forked_generation(); /* replaces a parent's lock, which would never be released */
	pthread_mutex_lock(&lock);
}

void forked_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void forked_before(void)
{
	forked_lock();
	forking = forked_generation();
}

static void forked_in_child(void)
{
	void (*hook)(void) = atomic_load(&child_hook);

	/* The thread that forked is this one. A handler of another library may have replaced the lock already. */
	if (atomic_load(&generation) == forking)
		forked_unlock();
	atomic_store(word, FORKED_UNSEEN); /* for kernels that cannot zero the page */
	forked_arrive();
	if (hook)
		hook();
}

static void forked_prepare(void)
{
	void *map = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);

	if (map == MAP_FAILED) {
		watch_failure = -ENOMEM;
		return;
	}
	(void)madvise(map, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK);
	word = map;
	atomic_store(word, FORKED_SEEN);
	watch_failure = -pthread_atfork(forked_before, forked_unlock, forked_in_child);
}

int forked_watch(struct error *err)
{
	pthread_once(&once, forked_prepare);
	if (watch_failure)
		return error_set(err, watch_failure, "no memory to watch for forks");
	return 0;
}

void forked_call_in_child(void (*in_child)(void))
{
	atomic_store(&child_hook, in_child);
}
