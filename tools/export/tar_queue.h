/* SPDX-License-Identifier: MIT */
/* Entries of a tar archive on their way: what comes next is read while what came before is verified and written. */
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
/* An entry with all its bytes; copies what it is given. A failure may be that of an earlier one. */
must_check int tar_queue_add(struct tar_queue *queue, const struct tar_write_entry *entry, struct error *err);
/* What was added is written. */
must_check int tar_queue_flush(struct tar_queue *queue, struct error *err);
/* Waits for what is being read; NULL does nothing. */
void tar_queue_close(struct tar_queue *queue);
