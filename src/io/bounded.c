/* SPDX-License-Identifier: MIT */
/* A read has its own memory and descriptor, so it can be abandoned to a list of reads that still hang. Whoever uses it
 * last frees it: its thread or, if it came back in time, the caller. */
#include "io/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/wake.h"
#include "io/site.h"

#define BOUNDED_PART  (4u << 20) /* bytes read at once */
#define BOUNDED_ALIGN 4096u

struct bounded {
	bounded_read_fn *read;
	int fd;
	struct stat st; /* what it is */
	uint64_t offset;
	size_t length;
	uint8_t *bytes;
	int result;
	struct error err;
	struct wake wake;
	bool is_done, is_left; /* under the lock, as is next */
	struct bounded *next;  /* in the list of abandoned reads */
};

static pthread_mutex_t bounded_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bounded *bounded_left;

static void bounded_free(struct bounded *bounded)
{
	if (bounded->fd >= 0)
		close(bounded->fd);
	wake_close(&bounded->wake);
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

/* Under the lock. */
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
		wake_up(&bounded->wake); /* under the lock: the caller frees it after that */
	pthread_mutex_unlock(&bounded_lock);
	if (is_left)
		bounded_free(bounded);
	return NULL;
}

/* Like F_DUPFD_CLOEXEC. ThreadSanitizer does not see that call: it would take the number for the file that had it
 * before. */
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
		return error_set(err, -ENOMEM, "no memory for a read");
	bounded->read = read;
	bounded->st = *st;
	bounded->wake.fd = -1;
	r = bounded_dup(fd, &bounded->fd, err);
	if (r == 0)
		r = wake_open(&bounded->wake, err);
	if (r < 0) {
		bounded_free(bounded);
		return r;
	}
	*ret = bounded;
	return 0;
}

static int bounded_start(struct bounded *bounded, struct error *err)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	r = -pthread_create(&thread, &attributes, bounded_main, bounded);
	pthread_attr_destroy(&attributes);
	return r < 0 ? error_set(err, r, "cannot start a thread for a read: %s", strerror(-r)) : 0;
}

/* Returns whether the read has come back. If not, it is in the list and belongs to its thread. */
static bool bounded_wait(struct bounded *bounded, int64_t patience)
{
	int64_t until = clock_now() + patience, left;
	bool is_done = false;

	while (!is_done && (left = until - clock_now()) > 0) {
		wake_wait(&bounded->wake, (int)(left / 1000000) + 1);
		pthread_mutex_lock(&bounded_lock);
		is_done = bounded->is_done;
		pthread_mutex_unlock(&bounded_lock);
	}
	pthread_mutex_lock(&bounded_lock);
	is_done = bounded->is_done;
	if (!is_done) {
		bounded->is_left = true;
		bounded->next = bounded_left;
		bounded_left = bounded;
	}
	pthread_mutex_unlock(&bounded_lock);
	return is_done;
}

/* Waits for the read and frees it, or leaves it to its thread. */
static int bounded_finish(struct bounded *bounded, int64_t patience, uint8_t *buffer, struct error *err)
{
	int r;

	if (!bounded_wait(bounded, patience))
		return error_set(err, -ETIMEDOUT, "no answer to a read for %.3g seconds", (double)patience / 1e9);
	r = bounded->result < 0 ? error_pass(err, bounded->result, &bounded->err) : 0;
	if (r == 0)
		memcpy(buffer, bounded->bytes, bounded->length);
	bounded_free(bounded);
	return r;
}

static int bounded_read_part(bounded_read_fn *read, int64_t patience, int fd, uint64_t offset, uint8_t *buffer,
			     size_t length, struct error *err)
{
	struct bounded *bounded = NULL;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	if (bounded_is_kept(&st))
		return error_set(err, -ETIMEDOUT, "an earlier read has not been answered yet");
	r = bounded_new(read, fd, &st, &bounded, err);
	if (r < 0)
		return r;
	bounded->offset = offset;
	bounded->length = length;
	bounded->bytes = aligned_alloc(BOUNDED_ALIGN, (length + BOUNDED_ALIGN - 1) / BOUNDED_ALIGN * BOUNDED_ALIGN);
	r = bounded->bytes ? bounded_start(bounded, err) :
			     error_set(err, -ENOMEM, "no memory for a read of %zu bytes", length);
	if (r < 0) {
		bounded_free(bounded);
		return r;
	}
	return bounded_finish(bounded, patience, buffer, err);
}

int bounded_read(bounded_read_fn *read, int64_t patience, int fd, uint64_t offset, uint8_t *buffer, size_t length,
		 struct error *err)
{
	size_t part;
	int r = 0;

	for (size_t done = 0; r == 0 && done < length; done += part) {
		part = length - done < BOUNDED_PART ? length - done : BOUNDED_PART;
		r = bounded_read_part(read, patience, fd, offset + done, buffer + done, part, err);
	}
	return r;
}
