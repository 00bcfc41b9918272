/* SPDX-License-Identifier: MIT */
/* Best fit among the open blocks. When too many are open, the fullest is written and closed. */
#include "erofs/erofs_packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "erofs/erofs_format.h"

#define PACKING_OPEN 64u

struct erofs_packing_block {
	uint64_t number;
	uint32_t used; /* a multiple of EROFS_SLOT */
	uint8_t bytes[EROFS_BLOCK];
};

int erofs_packing_open(int fd, uint64_t first, struct erofs_packing *ret, struct error *err)
{
	*ret = (struct erofs_packing){ .fd = fd, .next = first };
	ret->open = calloc(PACKING_OPEN, sizeof(*ret->open));
	return ret->open ? 0 : error_no_memory(err);
}

void erofs_packing_close(struct erofs_packing *packing)
{
	free(packing->open);
	packing->open = NULL;
}

static int packing_write(struct erofs_packing *packing, const struct erofs_packing_block *block, struct error *err)
{
	struct erofs_sink sink;
	int r;

	if (packing->fd < 0)
		return 0;
	r = erofs_sink_open(packing->fd, block->number * EROFS_BLOCK, &sink, err);
	if (r == 0)
		r = erofs_sink_put(&sink, block->bytes, EROFS_BLOCK, err);
	if (r == 0)
		r = erofs_sink_flush(&sink, err);
	erofs_sink_close(&sink);
	return r;
}

/* Returns the fullest open block that still has room for length bytes; NULL: none. */
static struct erofs_packing_block *packing_fullest(struct erofs_packing *packing, uint64_t length)
{
	struct erofs_packing_block *found = NULL;

	for (uint32_t i = 0; i < packing->count; i++)
		if (packing->open[i].used + length <= EROFS_BLOCK &&
		    (!found || packing->open[i].used > found->used))
			found = &packing->open[i];
	return found;
}

static int packing_new(struct erofs_packing *packing, struct erofs_packing_block **ret, struct error *err)
{
	struct erofs_packing_block *block;
	int r = 0;

	if (packing->count < PACKING_OPEN) {
		block = &packing->open[packing->count++];
	} else {
		block = packing_fullest(packing, 0);
		r = packing_write(packing, block, err);
	}
	memset(block, 0, sizeof(*block));
	block->number = packing->next++;
	*ret = block;
	return r;
}

int erofs_packing_place(struct erofs_packing *packing, uint64_t length, struct erofs_sink *ret, struct error *err)
{
	struct erofs_packing_block *block;
	uint64_t start = packing->next * EROFS_BLOCK;
	int r = 0;

	if (length > EROFS_BLOCK) {
		packing->next += round_up(length, EROFS_BLOCK) / EROFS_BLOCK;
		return erofs_sink_open(packing->fd, start, ret, err);
	}
	block = packing_fullest(packing, length);
	if (!block)
		r = packing_new(packing, &block, err);
	if (r < 0)
		return r;
	*ret = (struct erofs_sink){ .fd = -1,
				    .start = block->number * EROFS_BLOCK + block->used,
				    .memory = packing->fd < 0 ? NULL : block->bytes + block->used };
	block->used += (uint32_t)round_up(length, EROFS_SLOT);
	return 0;
}

int erofs_packing_flush(struct erofs_packing *packing, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < packing->count; i++)
		r = packing_write(packing, &packing->open[i], err);
	return r;
}
