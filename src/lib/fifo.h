/* SPDX-License-Identifier: MIT */
/* Reads of a queue, first in, first out. */
#pragma once
#include <stddef.h>

#include "base/error.h"
#include "datasetfs/datasetfs.h"

/* Zeroed: empty. */
struct fifo {
	struct dsfs_read **items;
	size_t room, first, count;
};

/* Room for so many more, so that fifo_add() has it. */
must_check int fifo_reserve(struct fifo *fifo, size_t more, struct error *err);
void fifo_add(struct fifo *fifo, struct dsfs_read *read);
/* NULL: it is empty. */
struct dsfs_read *fifo_take(struct fifo *fifo);
/* The one that comes after so many others; NULL: there is none. */
struct dsfs_read *fifo_peek(const struct fifo *fifo, size_t others);
void fifo_free(struct fifo *fifo);
