/* SPDX-License-Identifier: MIT */
/* Records of an archive, which are in its order, in that of the names: inodes by their ordinals, and chunks by their
 * files, as large files must have them. The scan asks for them and puts directories; files follow at its end. */
#pragma once
#include "layout/layout.h"
#include "source/scan.h"
#include "spill/reorder.h"

struct order {
	struct records from;  /* in the order of the archive: inodes by their numbers */
	struct records *to;
	struct names_writer *names;
	struct sums_reader sums;
	struct reorder files; /* inodes of files and symlinks, each followed by its chunk records if it is small */
	uint8_t *file;        /* one of those */
	struct table moved;   /* first record of several small files → where it is now */
	dsfs_le64 *row;
	uint32_t chunk_log;
	struct layout_counts *counts; /* of files, directories, links and their content */
};

/* Takes what the layout has out of it and puts what is in order in. The layout gets no more items. */
must_check int order_open(struct order *order, struct layout *layout, struct names_writer *names,
			  const struct temp *temp, uint32_t chunk_log, struct error *err);
void order_close(struct order *order); /* a zeroed one as well */
struct scan_sink order_sink(struct order *order);
/* After the scan. */
must_check int order_finish(struct order *order, struct error *err);
