/* SPDX-License-Identifier: MIT */
/* Runs each read in its own thread with its own buffer and descriptor, so that it can be abandoned. Its last user frees
 * it: the caller if the read came back in time, else its thread. */
#include "io/timed_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program/interrupt.h"
#include "base/round.h"
#include "base/thread/thread.h"
#include "io/outstanding.h"

#define BOUNDED_PART  (4u << 20) /* bytes read at once */
#define BOUNDED_ALIGN 4096u

struct bounded {
	struct outstanding outstanding; /* must be the first field */
	bounded_read_fn *read;
	int fd;
	uint64_t offset;
	size_t length;
	uint8_t *bytes;
	int64_t patience;
	int result;
	struct error err;
	struct thread thread; /* joined if it is in time, so that a fork after it meets no thread that is just ending */
};

static void bounded_free(struct bounded *bounded)
{
	if (bounded->fd >= 0)
		close(bounded->fd);
	free(bounded->bytes);
	free(bounded);
}

static void bounded_release(struct outstanding *outstanding)
{
	bounded_free((struct bounded *)outstanding);
}

static void bounded_main(void *argument)
{
	struct bounded *bounded = argument;

	bounded->result = bounded->read(bounded->fd, bounded->offset, bounded->bytes, bounded->length, &bounded->err);
	if (outstanding_end(&bounded->outstanding))
		bounded_free(bounded);
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

static int bounded_new(const struct outstanding *outstanding, int fd, size_t length, struct bounded **ret,
		       struct error *err)
{
	struct bounded *bounded = calloc(1, sizeof(*bounded));
	int r;

	if (!bounded)
		return error_no_memory(err);
	bounded->outstanding = *outstanding;
	bounded->length = length;
	r = bounded_dup(fd, &bounded->fd, err);
	if (r == 0) {
		length = round_up(length, BOUNDED_ALIGN);
		bounded->bytes = aligned_alloc(BOUNDED_ALIGN, length);
		r = bounded->bytes ? 0 : error_no_memory(err);
	}
	if (r < 0)
		bounded_free(bounded);
	else
		*ret = bounded;
	return r;
}

static int bounded_start(struct bounded *bounded, struct error *err)
{
	const struct thread_setup setup = { .run = bounded_main, .argument = bounded, .what = "a thread for a read",
					    .without_signals = true };

	return thread_start(&bounded->thread, &setup, err);
}

int bounded_begin(bounded_read_fn *read, int64_t patience, int fd, uint64_t offset, size_t length,
		  struct bounded **ret, struct error *err)
{
	struct bounded *bounded = NULL;
	struct outstanding outstanding;
	int r = patience == BOUNDED_ENDLESS ? interrupt_check(err) : 0;

	if (r == 0)
		r = outstanding_begin(OUTSTANDING_READ, fd, bounded_release, &outstanding, err);
	if (r == 0)
		r = bounded_new(&outstanding, fd, length, &bounded, err);
	if (r < 0)
		return r;
	bounded->outstanding.heeds_signals = patience == BOUNDED_ENDLESS;
	bounded->read = read;
	bounded->offset = offset;
	bounded->patience = patience;
	r = bounded_start(bounded, err);
	if (r < 0)
		bounded_free(bounded);
	else
		*ret = bounded;
	return r;
}

int bounded_end(struct bounded *bounded, uint8_t *buffer, struct error *err)
{
	struct thread thread = bounded->thread; /* an abandoned read may be freed at once */
	int r = outstanding_wait(&bounded->outstanding, bounded->patience, err);

	if (r < 0) {
		thread_detach(&thread);
		return r;
	}
	thread_join(&thread);
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
