/* SPDX-License-Identifier: MIT */
/* Measures how well files of different classes are mixed on the volume, by blocks of files that are neighbours. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "describe/survey/folders.h"
#include "image/index.h"

#define MIXING_BLOCK 128u /* files of a block */

struct mixing {
	uint32_t *folders; /* for each inode the number of its folder, plus 1; 0: it is not counted */
	uint64_t files;
	uint64_t blocks;   /* only whole ones are counted; 0: there is none */
	double found;      /* classes in a block, on average */
	double expected;   /* in a block of files drawn at random */
};

must_check int mixing_open(struct mixing *mixing, const struct index *index, struct error *err);
void mixing_close(struct mixing *mixing); /* accepts a zeroed one */
/* Adds a file. folder: its number, see folders_number(). */
void mixing_add(struct mixing *mixing, uint64_t ordinal, uint32_t folder);
/* Measures, after folders_sort(). */
must_check int mixing_measure(struct mixing *mixing, const struct index *index, const struct folders *folders,
			      struct error *err);
