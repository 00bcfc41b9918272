/* SPDX-License-Identifier: MIT */
/* Walks a version in the order of its archive, each directory before its contents and names in bytewise order, and adds
 * all entries to the queue. */
#pragma once
#include "export/tar_queue.h"

struct tar_tree_counts {
	uint64_t files, directories, symlinks, hard_links, content_bytes;
};

must_check int tar_tree_write(const struct index *index, struct tar_queue *queue, struct tar_tree_counts *ret,
			      struct error *err);
