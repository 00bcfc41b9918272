/* SPDX-License-Identifier: MIT */
/* Owns a list of reads: first in, first out. */
#pragma once
#include <stddef.h>

#include "base/error.h"
#include "datasetfs/datasetfs.h"

/* A ring of pointers, or an array of the caller's, to which nothing is added. A zeroed one is empty. */
struct fifo {
	struct dsfs_read **items;
	struct dsfs_read *array; /* has the reads instead; NULL: items has them */
	size_t room, first, count;
};

static inline struct fifo fifo_of(struct dsfs_read *reads, size_t count)
{
	return (struct fifo){ .array = reads, .count = count };
}

/* Makes room for `more` further reads, so that fifo_add() cannot fail. */
must_check int fifo_reserve(struct fifo *fifo, size_t more, struct error *err);
void fifo_add(struct fifo *fifo, struct dsfs_read *read);
/* Takes the oldest read out; NULL: the list is empty. */
struct dsfs_read *fifo_take(struct fifo *fifo);
/* Returns the read that has `others` reads before it, and leaves it in the list; NULL: there is none. */
struct dsfs_read *fifo_peek(const struct fifo *fifo, size_t others);
void fifo_free(struct fifo *fifo);
