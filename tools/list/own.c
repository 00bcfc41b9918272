/* SPDX-License-Identifier: MIT */
/* Marks the blocks that more than one version uses in a first pass over all versions, and counts the others of each in
 * a second. */
#include "list/own.h"

#include "volume/compaction/live_extents.h"
#include "volume/space/line.h"

struct own {
	const struct volume *volume;
	struct line line;
	struct bits blocks;        /* of one version */
	struct bits used, shared;  /* those of at least one version, and of at least two */
};

static void own_mark(void *argument, uint64_t address, uint64_t length)
{
	struct own *own = argument;

	line_mark(&own->line, &own->blocks, DSFS_BLOCK, address, length);
}

static int own_version(struct own *own, const struct version *version, struct error *err)
{
	struct backing backing = backing_of(&own->volume->array->source, &own->volume->catalogue.members);
	int r;

	bits_close(&own->blocks);
	r = bits_open(&own->blocks, line_length(&own->line) / DSFS_BLOCK, err);
	return r < 0 ? r : live_extents_of_version(backing, version, own_mark, own, err);
}

static void own_add(struct own *own)
{
	const struct bits *blocks = &own->blocks;

	for (uint64_t b = bits_next(blocks, 0, true); b < blocks->count; b = bits_next(blocks, b + 1, true))
		bits_set(bits_get(&own->used, b) ? &own->shared : &own->used, b, 1);
}

static uint64_t own_count(const struct own *own)
{
	const struct bits *blocks = &own->blocks;
	uint64_t bytes = 0;

	for (uint64_t b = bits_next(blocks, 0, true); b < blocks->count; b = bits_next(blocks, b + 1, true))
		bytes += bits_get(&own->shared, b) ? 0 : DSFS_BLOCK;
	return bytes;
}

static int own_open(const struct volume *volume, struct own *own, struct error *err)
{
	uint64_t segment = UINT64_C(1) << volume->super.segment_log;
	int r = line_open(&volume->array->source, &volume->catalogue, segment, &own->line, err);

	own->volume = volume;
	if (r == 0)
		r = bits_open(&own->used, line_length(&own->line) / DSFS_BLOCK, err);
	return r < 0 ? r : bits_open(&own->shared, line_length(&own->line) / DSFS_BLOCK, err);
}

static int own_passes(struct own *own, struct list_share *shares, struct error *err)
{
	const struct catalogue *catalogue = &own->volume->catalogue;
	int r = 0;

	for (uint32_t v = 0; r == 0 && v < catalogue->version_count; v++) {
		r = own_version(own, &catalogue->versions[v], err);
		if (r == 0)
			own_add(own);
	}
	for (uint32_t v = 0; r == 0 && v < catalogue->version_count; v++) {
		r = own_version(own, &catalogue->versions[v], err);
		if (r == 0)
			shares[v].own = own_count(own);
	}
	return r;
}

int own_measure(const struct volume *volume, struct list_space *space, struct error *err)
{
	struct own own = { 0 };
	int r = own_open(volume, &own, err);

	if (r == 0)
		r = own_passes(&own, space->shares, err);
	line_close(&own.line);
	bits_close(&own.blocks);
	bits_close(&own.used);
	bits_close(&own.shared);
	space->has_own = r == 0;
	return r;
}
