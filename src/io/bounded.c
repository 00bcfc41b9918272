/* SPDX-License-Identifier: MIT */
/* Runs each read in its own thread with its own buffer and descriptor, so that it can be abandoned to a list of
 * hanging reads. Its last user frees it: the caller if the read came back in time, else its thread. */
#include "io/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program/interrupt.h"
#include "io/site.h"

#define BOUNDED_PART  (4u << 20) /* bytes read at once */
#define BOUNDED_ALIGN 4096u
#define BOUNDED_LOOK  100000000 /* ns between two checks for a signal that another thread received */

struct bounded {
	bounded_read_fn *read;
	int fd;
	struct stat st; /* identity of the file */
	uint64_t offset;
	size_t length;
	uint8_t *bytes;
	int64_t patience, until;
	int result;
	struct error err;
	sem_t done;
	pthread_t thread; /* joined if the read comes back in time: who forks next has no thread that is just ending */
	bool is_done, is_left; /* protected by bounded_lock, like next */
	struct bounded *next;  /* in the list of abandoned reads */
};

static pthread_mutex_t bounded_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bounded *bounded_left;
static pthread_once_t bounded_once = PTHREAD_ONCE_INIT;

static void bounded_before_fork(void)
{
	pthread_mutex_lock(&bounded_lock);
}

static void bounded_after_fork(void)
{
	pthread_mutex_unlock(&bounded_lock);
}

/* A child has none of the parent's threads, so none of its reads hangs yet. */
static void bounded_in_child(void)
{
	bounded_left = NULL;
	pthread_mutex_unlock(&bounded_lock);
}

static void bounded_watch_forks(void)
{
	(void)pthread_atfork(bounded_before_fork, bounded_after_fork, bounded_in_child);
}

static void bounded_free(struct bounded *bounded)
{
	if (bounded->fd >= 0)
		close(bounded->fd);
	sem_destroy(&bounded->done);
	free(bounded->bytes);
	free(bounded);
}

static bool bounded_is_kept(const struct stat *st)
{
	bool is_kept = false;

	pthread_mutex_lock(&bounded_lock);
	for (const struct bounded *left = bounded_left; left && !is_kept; left = left->next)
		is_kept = site_is_same(&left->st, st);
	pthread_mutex_unlock(&bounded_lock);
	return is_kept;
}

/* Requires bounded_lock. */
static void bounded_unlink(struct bounded *bounded)
{
	struct bounded **link = &bounded_left;

	while (*link != bounded)
		link = &(*link)->next;
	*link = bounded->next;
}

static void *bounded_main(void *argument)
{
	struct bounded *bounded = argument;
	bool is_left;

	bounded->result = bounded->read(bounded->fd, bounded->offset, bounded->bytes, bounded->length, &bounded->err);
	pthread_mutex_lock(&bounded_lock);
	bounded->is_done = true;
	is_left = bounded->is_left;
	if (is_left)
		bounded_unlink(bounded);
	else
		sem_post(&bounded->done); /* under the lock, as the caller frees it afterwards */
	pthread_mutex_unlock(&bounded_lock);
	if (is_left)
		bounded_free(bounded);
	return NULL;
}

/* Duplicates fd. dup3(2), because ThreadSanitizer does not see F_DUPFD_CLOEXEC and would take the new number for the
 * file that had it before. */
static int bounded_dup(int fd, int *ret, struct error *err)
{
	*ret = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (*ret < 0)
		return error_errno(err, "cannot open '/dev/null'");
	return dup3(fd, *ret, O_CLOEXEC) < 0 ? error_errno(err, "dup3") : 0;
}

static int bounded_new(bounded_read_fn *read, int fd, const struct stat *st, struct bounded **ret, struct error *err)
{
	struct bounded *bounded = calloc(1, sizeof(*bounded));
	int r;

	if (!bounded)
		return error_no_memory(err);
	bounded->read = read;
	bounded->st = *st;
	sem_init(&bounded->done, 0, 0);
	r = bounded_dup(fd, &bounded->fd, err);
	if (r < 0) {
		bounded_free(bounded);
		return r;
	}
	*ret = bounded;
	return 0;
}

/* Starts the thread with all signals blocked, because the program's signals are not for it. */
static int bounded_start(struct bounded *bounded, struct error *err)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r = -pthread_create(&bounded->thread, NULL, bounded_main, bounded);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? error_set(err, r, "cannot start a thread for a read: %s", strerror(-r)) : 0;
}

static bool bounded_is_done(struct bounded *bounded)
{
	bool is_done;

	pthread_mutex_lock(&bounded_lock);
	is_done = bounded->is_done;
	pthread_mutex_unlock(&bounded_lock);
	return is_done;
}

/* Returns true if the read has come back. Otherwise abandons it: it is in the list and belongs to its thread. */
static bool bounded_leave(struct bounded *bounded)
{
	bool is_done;

	pthread_mutex_lock(&bounded_lock);
	is_done = bounded->is_done;
	if (!is_done) {
		pthread_detach(bounded->thread); /* first, as the thread frees this once the lock is given up */
		bounded->is_left = true;
		bounded->next = bounded_left;
		bounded_left = bounded;
	}
	pthread_mutex_unlock(&bounded_lock);
	return is_done;
}

static int bounded_check(int64_t patience, struct error *err)
{
	return patience == BOUNDED_ENDLESS ? interrupt_check(err) : 0;
}

/* Waits for the read until its deadline or a signal. Returns true if it has come back, and abandons it otherwise. */
static bool bounded_wait(struct bounded *bounded)
{
	int64_t now = clock_now(), next;

	while (now < bounded->until && !bounded_is_done(bounded) &&
	       bounded_check(bounded->patience, NULL) == 0) {
		next = bounded->until < now + BOUNDED_LOOK ? bounded->until : now + BOUNDED_LOOK;
		sem_clockwait(&bounded->done, CLOCK_MONOTONIC,
			      &(struct timespec){ .tv_sec = next / 1000000000, .tv_nsec = next % 1000000000 });
		now = clock_now();
	}
	return bounded_leave(bounded);
}

int bounded_begin(bounded_read_fn *read, int64_t patience, int fd, uint64_t offset, size_t length,
		  struct bounded **ret, struct error *err)
{
	struct bounded *bounded = NULL;
	struct stat st;
	int r = bounded_check(patience, err);

	pthread_once(&bounded_once, bounded_watch_forks);
	if (r == 0 && fstat(fd, &st) < 0)
		r = error_errno(err, "fstat");
	if (r == 0 && bounded_is_kept(&st))
		r = error_set(err, -ETIMEDOUT, "an earlier read has not been answered yet");
	if (r == 0)
		r = bounded_new(read, fd, &st, &bounded, err);
	if (r < 0)
		return r;
	bounded->offset = offset;
	bounded->length = length;
	bounded->patience = patience;
	bounded->until = clock_now() + patience;
	bounded->bytes = aligned_alloc(BOUNDED_ALIGN, (length + BOUNDED_ALIGN - 1) / BOUNDED_ALIGN * BOUNDED_ALIGN);
	r = bounded->bytes ? bounded_start(bounded, err) : error_no_memory(err);
	if (r < 0) {
		bounded_free(bounded);
		return r;
	}
	*ret = bounded;
	return 0;
}

int bounded_end(struct bounded *bounded, uint8_t *buffer, struct error *err)
{
	int64_t patience = bounded->patience;
	int r;

	if (!bounded_wait(bounded)) {
		r = bounded_check(patience, err);
		return r < 0 ? r : error_set(err, -ETIMEDOUT, "no answer to a read for %.3g seconds",
					     (double)patience / 1e9);
	}
	pthread_join(bounded->thread, NULL);
	r = bounded->result < 0 ? error_pass(err, bounded->result, &bounded->err) : 0;
	if (r == 0)
		memcpy(buffer, bounded->bytes, bounded->length);
	bounded_free(bounded);
	return r;
}

int bounded_read(bounded_read_fn *read, int64_t patience, int fd, uint64_t offset, uint8_t *buffer, size_t length,
		 struct error *err)
{
	struct bounded *bounded = NULL;
	size_t part;
	int r = 0;

	for (size_t done = 0; r == 0 && done < length; done += part) {
		part = length - done < BOUNDED_PART ? length - done : BOUNDED_PART;
		r = bounded_begin(read, patience, fd, offset + done, part, &bounded, err);
		if (r == 0)
			r = bounded_end(bounded, buffer + done, err);
	}
	return r;
}
