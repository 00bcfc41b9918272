/* SPDX-License-Identifier: MIT */
/* Packs inodes into blocks. An inode must be in one block with its inline data, so writing them in order would waste
 * much space: several blocks stay open, and each record goes into the fullest one that has room. */
#pragma once
#include "base/error.h"
#include "erofs/erofs_sink.h"

struct erofs_packing_block;

struct erofs_packing {
	int fd;        /* -1: only measures */
	uint64_t next; /* next free block number */
	struct erofs_packing_block *open;
	uint32_t count;
};

must_check int erofs_packing_open(int fd, uint64_t first, struct erofs_packing *ret, struct error *err);
void erofs_packing_close(struct erofs_packing *packing); /* drops unflushed bytes */
/* Reserves length bytes at a multiple of EROFS_SLOT, inside one block if they fit; ret->start says where. The caller
 * writes, flushes and closes ret before the next call. */
must_check int erofs_packing_place(struct erofs_packing *packing, uint64_t length, struct erofs_sink *ret,
				   struct error *err);
must_check int erofs_packing_flush(struct erofs_packing *packing, struct error *err);
