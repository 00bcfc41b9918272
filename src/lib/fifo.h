/* SPDX-License-Identifier: MIT */
/* Owns the list of a queue's reads: first in, first out. */
#pragma once
#include <stddef.h>

#include "base/error.h"
#include "datasetfs/datasetfs.h"

/* A ring of pointers; a zeroed one is empty. */
struct fifo {
	struct dsfs_read **items;
	size_t room, first, count;
};

/* Makes room for that many more reads, so that fifo_add() cannot fail. */
must_check int fifo_reserve(struct fifo *fifo, size_t more, struct error *err);
void fifo_add(struct fifo *fifo, struct dsfs_read *read);
/* Takes the oldest read out; NULL: the list is empty. */
struct dsfs_read *fifo_take(struct fifo *fifo);
/* Returns the read behind that many others, and leaves it in; NULL: there is none. */
struct dsfs_read *fifo_peek(const struct fifo *fifo, size_t others);
void fifo_free(struct fifo *fifo);
