/* SPDX-License-Identifier: MIT */
/* Reads the next entries of a tar archive while earlier ones are verified and written. */
#pragma once
#include "export/tar_write.h"
#include "io/array.h"

struct progress;
struct tar_queue;

struct tar_queue_setup {
	const struct index *index;
	struct array_source *array;
	struct tar_write *tar;
	struct progress *progress; /* or NULL */
};

must_check int tar_queue_open(const struct tar_queue_setup *setup, struct tar_queue **ret, struct error *err);
/* Adds an entry with all its content; copies its arguments. May return the failure of an earlier entry. */
must_check int tar_queue_add(struct tar_queue *queue, const struct tar_write_entry *entry, struct error *err);
/* Waits until all entries are written. */
must_check int tar_queue_flush(struct tar_queue *queue, struct error *err);
/* Waits for reads in flight and frees the queue; NULL does nothing. */
void tar_queue_close(struct tar_queue *queue);
