/* SPDX-License-Identifier: MIT */
/* Finds out which files the cache of this machine has, lacks, and never has. */
#pragma once
#include <stdint.h>

#include "cache/store.h"
#include "image/index.h"
#include "image/inode.h"

#define CACHED_FILE_DAMAGED 1u /* the address of each file with damaged records: before all chunks */

enum cached_file_place {
	CACHED_FILE_WHOLE,   /* all of it that is on the volume */
	CACHED_FILE_MISSING, /* not all of it */
	CACHED_FILE_INDEX,   /* nothing of it is on the volume: it is in the index, or has no bytes */
	CACHED_FILE_LARGE,   /* it is larger than one READ, and read from the volume */
	CACHED_FILE_PLACES,
};

struct cached_file {
	enum cached_file_place place;
	uint32_t missing; /* chunks that the cache lacks; 1 if it has damaged records */
	uint64_t address; /* of the first of these chunks, or CACHED_FILE_DAMAGED */
};

/* How many files are there, and the bytes of their contents. */
struct cached_files {
	uint64_t files[CACHED_FILE_PLACES], bytes[CACHED_FILE_PLACES];
	uint64_t chunks; /* that files lack, each time that one does */
};

/* Finds where a regular file is. */
struct cached_file cached_files_find(const struct store *store, const struct index *index, const struct inode *inode);
void cached_files_add(struct cached_files *counts, const struct cached_file *file, uint64_t bytes);
