/* SPDX-License-Identifier: MIT */
/* Blocks of inodes. What lies behind an inode must be in one block, so one after the other would leave much empty: some
 * blocks stay open, and each record goes where the least is left. */
#pragma once
#include "base/error.h"
#include "erofs/erofs_sink.h"

struct erofs_packing_block;

struct erofs_packing {
	int fd;        /* -1: measures only */
	uint64_t next; /* number of the block behind all of them */
	struct erofs_packing_block *open;
	uint32_t count;
};

must_check int erofs_packing_open(int fd, uint64_t first, struct erofs_packing *ret, struct error *err);
void erofs_packing_close(struct erofs_packing *packing); /* what was not flushed is lost */
/* Room for so many bytes, at a multiple of EROFS_SLOT and, if they fit, in one block: ret->start says where. It is used
 * before the next one is taken, then flushed and closed. */
must_check int erofs_packing_place(struct erofs_packing *packing, uint64_t length, struct erofs_sink *ret,
				   struct error *err);
must_check int erofs_packing_flush(struct erofs_packing *packing, struct error *err);
