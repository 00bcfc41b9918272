/* SPDX-License-Identifier: MIT */
/* A sequence is a pile of levels. The lowest one is computed: a block is a division and an element of a permutation.
 * Each one above has a list of parts of the one below it. */
#include "lib/shuffle/sequence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "datasetfs/format.h"

/* --- blocks --- */

static int sequence_check(const struct dsfs_shuffle_options *options, size_t key_room, struct error *err)
{
	if (options->size < sizeof(*options))
		return error_set(err, -EINVAL, "options of %" PRIu32 " bytes, expected %zu", options->size,
				 sizeof(*options));
	if (!options->key || strlen(options->key) >= key_room)
		return error_set(err, -EINVAL, "a key of %zu bytes, expected at most %zu",
				 options->key ? strlen(options->key) : 0, key_room - 1);
	if (options->count > UINT64_C(1) << DSFS_ORDINAL_BITS)
		return error_set(err, -EINVAL, "%" PRIu64 " samples, expected at most 2^%u", options->count,
				 DSFS_ORDINAL_BITS);
	if (!options->block || !options->buffer)
		return error_set(err, -EINVAL, "blocks of %" PRIu64 " samples and a buffer of %" PRIu64
				 ", expected at least 1", options->block, options->buffer);
	return 0;
}

int sequence_make(struct sequence *sequence, const struct dsfs_shuffle_options *options, struct error *err)
{
	int r = sequence_check(options, sizeof(sequence->key), err);
	uint64_t blocks, last;

	if (r < 0)
		return r;
	*sequence = (struct sequence){ .count = options->count, .block = options->block, .buffer = options->buffer };
	strcpy(sequence->key, options->key);
	blocks = sequence->count / sequence->block + (sequence->count % sequence->block != 0);
	r = permutation_make(&sequence->blocks, blocks, sequence->key, err);
	if (r < 0 || !blocks)
		return r;
	last = sequence->count - (blocks - 1) * sequence->block;
	sequence->changes = permutation_place(&sequence->blocks, blocks - 1) * sequence->block + last;
	return 0;
}

static uint64_t sequence_block_at(const struct sequence *sequence, uint64_t position)
{
	uint64_t block = sequence->block;

	if (position >= sequence->changes)
		position += sequence->blocks.length * block - sequence->count;
	return permutation_element(&sequence->blocks, position / block) * block + position % block;
}

/* --- levels --- */

static void sequence_free_level(struct sequence_level *level)
{
	for (size_t i = 0; i < level->count; i++)
		permutation_free(&level->parts[i].mix);
	free(level->parts);
}

void sequence_free(struct sequence *sequence)
{
	for (size_t i = 0; i < sequence->level_count; i++)
		sequence_free_level(&sequence->levels[i]);
	free(sequence->levels);
	permutation_free(&sequence->blocks);
}

uint64_t sequence_left(const struct sequence *sequence)
{
	return sequence->level_count ? sequence->levels[sequence->level_count - 1].left : sequence->count;
}

static struct sequence_part *sequence_find(const struct sequence_level *level, uint64_t position)
{
	size_t low = 0, high = level->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (level->parts[middle].first <= position)
			low = middle;
		else
			high = middle;
	}
	return &level->parts[low];
}

static int sequence_make_mix(const struct sequence *sequence, size_t level, uint64_t first, uint64_t count,
			     struct permutation *ret, struct error *err)
{
	char key[PERMUTATION_KEY_MAX];

	snprintf(key, sizeof(key), "%s mix %zu %" PRIu64, sequence->key, level, first);
	return permutation_make(ret, count, key, err);
}

int sequence_mix(const struct sequence *sequence, const struct deal_window *window, struct permutation *ret,
		 struct error *err)
{
	return sequence_make_mix(sequence, sequence->level_count, window->first, window->count, ret, err);
}

int sequence_at(struct sequence *sequence, uint64_t position, uint64_t *ret, struct error *err)
{
	for (size_t i = sequence->level_count; i-- > 0;) {
		struct sequence_part *part = sequence_find(&sequence->levels[i], position);

		position -= part->first;
		if (part->window && !part->mix.numbers) {
			int r = sequence_make_mix(sequence, i, part->below, part->window, &part->mix, err);

			if (r < 0)
				return r;
		}
		if (part->window)
			position = permutation_element(&part->mix, part->had + position);
		position += part->below;
	}
	*ret = sequence_block_at(sequence, position);
	return 0;
}

/* --- the rest of a sequence --- */

/* Adds count samples to the level; those that go on where the last part ends are joined with it. */
static int sequence_add(struct sequence_level *level, const struct sequence_part *wanted, uint64_t count,
			struct error *err)
{
	const struct sequence_part *last = level->count ? &level->parts[level->count - 1] : NULL;
	int r;

	if (!count)
		return 0;
	if (!last || last->window || wanted->window || last->below + (level->left - last->first) != wanted->below) {
		r = grow(level->parts, level->room, level->count + 1, err);
		if (r < 0)
			return r;
		level->parts[level->count] = *wanted;
		level->parts[level->count++].first = level->left;
	}
	level->left += count;
	return 0;
}

/* Adds the rest of a slice: the rest of the window that was being handed out, then the windows behind it. */
static int sequence_add_slice(const struct sequence *sequence, struct sequence_level *level,
			      const struct deal_slice *slice, uint64_t had, struct error *err)
{
	struct deal_window window;
	struct sequence_part part = { 0 };
	uint64_t rest = slice->first + had;
	int r;

	if (had >= slice->count)
		return 0;
	window = deal_window(slice, sequence->buffer, deal_window_of(slice, sequence->buffer, had));
	if (rest > window.first) {
		part = (struct sequence_part){ .below = window.first, .had = rest - window.first,
					       .window = window.count };
		r = sequence_add(level, &part, part.window - part.had, err);
		if (r < 0)
			return r;
		rest = window.first + window.count;
	}
	part = (struct sequence_part){ .below = rest };
	return sequence_add(level, &part, slice->first + slice->count - rest, err);
}

static int sequence_fill(const struct sequence *sequence, struct sequence_level *level, const struct deal *deal,
			 uint64_t batches, struct error *err)
{
	struct sequence_part undealt = { .below = deal->share * deal->ranks };
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < deal->ranks * deal->workers; i++) {
		uint64_t worker = i % deal->workers;
		struct deal_slice slice = deal_slice(deal, i / deal->workers, worker);

		r = sequence_add_slice(sequence, level, &slice, deal_had(deal, &slice, worker, batches), err);
	}
	if (r == 0 && undealt.below < deal->left)
		r = sequence_add(level, &undealt, deal->left - undealt.below, err);
	return r;
}

int sequence_resume(struct sequence *sequence, const struct deal *deal, uint64_t batches, struct error *err)
{
	struct sequence_level level = { 0 };
	int r = grow_one(sequence->levels, sequence->level_count, err);

	if (r == 0)
		r = sequence_fill(sequence, &level, deal, batches, err);
	if (r < 0) {
		sequence_free_level(&level);
		return r;
	}
	sequence->levels[sequence->level_count++] = level;
	return 0;
}
