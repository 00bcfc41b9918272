/* SPDX-License-Identifier: MIT */
/* The sequence of an epoch's samples that is left to be dealt: blocks in random order at first; after an interruption,
 * the rest of that deal's slices. Memory depends on how many blocks there are, and on how many workers. */
#pragma once
#include "lib/shuffle/deal.h"
#include "lib/shuffle/permutation.h"

/* Samples that follow each other in a sequence, and where they are in the one below it. */
struct sequence_part {
	uint64_t first; /* position in this sequence */
	uint64_t below; /* position in the one below; of a window: where that begins */
	uint64_t had;   /* samples of the window that came before, in its mixed order */
	uint64_t window;       /* samples of the window; 0: no window, the samples follow each other below as well */
	struct permutation mix; /* of the window; made when it is first needed */
};

struct sequence_level {
	struct sequence_part *parts;
	size_t count, room;
	uint64_t left;
};

struct sequence {
	char key[PERMUTATION_KEY_MAX - 128];
	uint64_t count, block, buffer;
	uint64_t changes; /* the position from which on the short block has come */
	struct permutation blocks;
	struct sequence_level *levels;
	size_t level_count;
};

must_check int sequence_make(struct sequence *sequence, const struct dsfs_shuffle_options *options, struct error *err);
void sequence_free(struct sequence *sequence);
/* Returns how many samples there are to be dealt. */
uint64_t sequence_left(const struct sequence *sequence);
/* Finds the place of the sample at a position: less than sequence_left(). */
must_check int sequence_at(struct sequence *sequence, uint64_t position, uint64_t *ret, struct error *err);
/* Makes the order in which a window of this sequence is handed out. */
must_check int sequence_mix(const struct sequence *sequence, const struct deal_window *window,
			    struct permutation *ret, struct error *err);
/* Goes on to the sequence of the samples that are left when each rank has had so many batches. */
must_check int sequence_resume(struct sequence *sequence, const struct deal *deal, uint64_t batches,
			       struct error *err);
