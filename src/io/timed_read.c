/* SPDX-License-Identifier: MIT */
/* Runs each read in its own thread with its own buffer and descriptor, so that it can be abandoned. Its last user frees
 * it: the caller if the read came back in time, else its thread. */
#include "io/timed_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/direct.h"
#include "base/program/interrupt.h"
#include "base/round.h"
#include "base/thread/thread.h"
#include "io/outstanding.h"

#define TIMED_READ_PART (4u << 20) /* bytes read at once */

struct timed_read {
	struct outstanding outstanding; /* must be the first field */
	struct timed_read_setup setup; /* with a descriptor of its own */
	uint64_t offset;
	size_t length;
	uint8_t *bytes;
	int result;
	struct error err;
	struct thread thread; /* joined if it is in time, so that a fork after it meets no thread that is just ending */
};

static void timed_read_free(struct timed_read *timed)
{
	if (timed->setup.fd >= 0)
		close(timed->setup.fd);
	free(timed->bytes);
	free(timed);
}

static void timed_read_release(struct outstanding *outstanding)
{
	timed_read_free((struct timed_read *)outstanding);
}

static void timed_read_main(void *argument)
{
	struct timed_read *timed = argument;

	timed->result = timed->setup.read(timed->setup.fd, timed->offset, timed->bytes, timed->length, &timed->err);
	if (outstanding_end(&timed->outstanding))
		timed_read_free(timed);
}

/* Duplicates fd. dup3(2), because ThreadSanitizer does not see F_DUPFD_CLOEXEC and would take the new number for the
 * file that had it before. */
static int timed_read_dup(int fd, int *ret, struct error *err)
{
	*ret = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (*ret < 0)
		return error_errno(err, "cannot open '/dev/null'");
	return dup3(fd, *ret, O_CLOEXEC) < 0 ? error_errno(err, "dup3") : 0;
}

static int timed_read_new(const struct timed_read_setup *setup, const struct outstanding *outstanding, size_t length,
			  struct timed_read **ret, struct error *err)
{
	struct timed_read *timed = calloc(1, sizeof(*timed));
	int r;

	if (!timed)
		return error_no_memory(err);
	timed->outstanding = *outstanding;
	timed->outstanding.heeds_signals = setup->patience == TIMED_READ_ENDLESS;
	timed->setup = *setup;
	timed->length = length;
	r = timed_read_dup(setup->fd, &timed->setup.fd, err);
	if (r == 0) {
		timed->bytes = aligned_alloc(DIRECT_ALIGN, round_up(length, DIRECT_ALIGN));
		r = timed->bytes ? 0 : error_no_memory(err);
	}
	if (r < 0)
		timed_read_free(timed);
	else
		*ret = timed;
	return r;
}

static int timed_read_start(struct timed_read *timed, struct error *err)
{
	const struct thread_setup setup = { .run = timed_read_main, .argument = timed, .what = "a thread for a read",
					    .without_signals = true };

	return thread_start(&timed->thread, 1, &setup, err);
}

int timed_read_begin(const struct timed_read_setup *setup, uint64_t offset, size_t length, struct timed_read **ret,
		     struct error *err)
{
	struct timed_read *timed = NULL;
	struct outstanding outstanding;
	int r = setup->patience == TIMED_READ_ENDLESS ? interrupt_check(err) : 0;

	if (r == 0)
		r = outstanding_begin(OUTSTANDING_READ, setup->fd, timed_read_release, &outstanding, err);
	if (r == 0)
		r = timed_read_new(setup, &outstanding, length, &timed, err);
	if (r < 0)
		return r;
	timed->offset = offset;
	r = timed_read_start(timed, err);
	if (r < 0)
		timed_read_free(timed);
	else
		*ret = timed;
	return r;
}

int timed_read_end(struct timed_read *timed, uint8_t *buffer, struct error *err)
{
	struct thread thread = timed->thread; /* an abandoned read may be freed at once */
	int r = outstanding_wait(&timed->outstanding, timed->setup.patience, err);

	if (r < 0) {
		thread_detach(&thread);
		return r;
	}
	thread_join(&thread);
	r = timed->result < 0 ? error_pass(err, timed->result, &timed->err) : 0;
	if (r == 0)
		memcpy(buffer, timed->bytes, timed->length);
	timed_read_free(timed);
	return r;
}

int timed_read(const struct timed_read_setup *setup, uint64_t offset, uint8_t *buffer, size_t length,
	       struct error *err)
{
	struct timed_read *timed = NULL;
	size_t part;
	int r = 0;

	for (size_t done = 0; r == 0 && done < length; done += part) {
		part = length - done < TIMED_READ_PART ? length - done : TIMED_READ_PART;
		r = timed_read_begin(setup, offset + done, part, &timed, err);
		if (r == 0)
			r = timed_read_end(timed, buffer + done, err);
	}
	return r;
}
