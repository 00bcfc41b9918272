/* SPDX-License-Identifier: MIT */
/* Takes stock of files: which of them the cache of this machine has, lacks, and never has. */
#pragma once
#include <stdint.h>

#include "cache/store.h"
#include "image/index.h"
#include "image/inode.h"

#define STOCK_DAMAGED 1u /* the address of each file with damaged records: before all chunks */

enum stock_place {
	STOCK_CACHED,  /* all of it that is on the volume */
	STOCK_MISSING, /* not all of it */
	STOCK_INDEX,   /* nothing of it is on the volume: it is in the index, or has no bytes */
	STOCK_LARGE,   /* it is larger than one READ, and read from the volume */
	STOCK_PLACES,
};

struct stock_file {
	enum stock_place place;
	uint32_t missing; /* chunks that the cache lacks; 1 if it has damaged records */
	uint64_t address; /* of the first of these chunks, or STOCK_DAMAGED */
};

/* How many files are there, and the bytes of their contents. */
struct stock {
	uint64_t files[STOCK_PLACES], bytes[STOCK_PLACES];
	uint64_t chunks; /* that files lack, each time that one does */
};

/* Finds where a regular file is. */
struct stock_file stock_find(const struct store *store, const struct index *index, const struct inode *inode);
void stock_add(struct stock *stock, const struct stock_file *file, uint64_t bytes);
