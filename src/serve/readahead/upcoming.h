/* SPDX-License-Identifier: MIT */
/* The files that a user announced and that wait to be read: found in the order in which they are needed, and by their
 * place on the volume, so that one read brings those that lie side by side. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define UPCOMING_BYTES (2u << 20)  /* content of a run, to which the last file may add up to READ_MAX bytes */

/* A file, and where it lies. */
struct upcoming_file {
	uint64_t address; /* of its first byte on a device; 0: it is on none */
	uint64_t ordinal;
	uint32_t stored;  /* bytes from there to its end */
	uint32_t size : 24;   /* bytes of content; 0: it was taken, or need not be read */
	uint32_t is_seen : 1; /* upcoming_trim() only */
};

/* A file's name in the queue. */
struct upcoming_key {
	uint64_t address, ordinal;
};

/* The files of one user that wait. Zeroed, there are none. Its user holds a lock. */
struct upcoming {
	struct upcoming_file *files; /* the first `sorted` by place, taken ones included; the rest as they came */
	size_t count, sorted, room;
	struct upcoming_key *queue;  /* in the order in which they are needed; some were taken, or stand here twice */
	size_t head, end, queue_room;
	uint32_t waiting;          /* number of files that were not taken */
};

/* How much of its memory is in use, as a number of files. */
static inline size_t upcoming_length(const struct upcoming *upcoming)
{
	return upcoming->count > upcoming->end / 2 ? upcoming->count : upcoming->end / 2;
}

/* Appends files, which are needed after those that wait already. A file that waits already is not added again. -ENOMEM:
 * nothing was added. */
must_check int upcoming_add(struct upcoming *upcoming, const struct upcoming_file *files, uint32_t count,
			    struct error *err);
/* Takes the file that is needed first, and the files that wait and lie around it with small gaps: as far as READ_MAX
 * bytes before it and behind it, `most` files at most. Returns how many; 0: no file waits. *ret_bytes: their
 * content. */
uint32_t upcoming_take(struct upcoming *upcoming, uint64_t *ordinals, uint32_t most, uint64_t *ret_bytes);
/* Removes a file that need not be read any more, if it waits. */
void upcoming_forget(struct upcoming *upcoming, uint64_t address, uint64_t ordinal);
/* Removes all files, and frees the memory. */
void upcoming_clear(struct upcoming *upcoming);
