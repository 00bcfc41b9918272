/* SPDX-License-Identifier: MIT */
/* Puts the records of an archive into the order of its names: inodes by their ordinals, and chunks by their files, as
 * large files must have them. The scan writes the directories and only requests the files, which order_finish()
 * writes. */
#pragma once
#include "layout/layout.h"
#include "source/scan.h"
#include "spill/reorder.h"

struct order {
	struct records from;  /* in the order of the archive: inodes by their numbers */
	struct records *to;   /* the layout's, in the order of the names */
	struct names_writer *names;
	struct sums_reader sums;
	struct reorder files; /* inodes of files and symlinks, each followed by its chunk records if it is small */
	uint8_t *file;        /* buffer for one record of files */
	struct table moved;   /* first record of several small files → its new number */
	uint8_t *row;
	uint32_t chunk_log;
	struct layout_counts *counts; /* of files, directories, links and their content */
};

/* Moves the layout's inodes, chunk records and sums to order->from, which leaves empty arrays in the layout, to be
 * filled in the order of the names; classes and the blob stay. The layout must get no more items. */
must_check int order_open(struct order *order, struct layout *layout, struct names_writer *names,
			  const struct temp *temp, uint32_t chunk_log, struct error *err);
void order_close(struct order *order); /* a zeroed one may be closed, too */
struct scan_sink order_sink(struct order *order);
/* Writes files and symlinks with their chunk records, after the scan. */
must_check int order_finish(struct order *order, struct error *err);
