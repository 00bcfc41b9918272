/* SPDX-License-Identifier: MIT */
/* Measures the space of file content on the volume: holes, content shared by several files, compression. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "describe/survey/seen.h"
#include "image/index.h"
#include "image/inode.h"

#define STORAGE_SMALL (UINT64_C(1) << 20)

/* Counts bytes of content, except stored_bytes. Holes, shared and unique content add up to the size of all files. */
struct storage {
	struct seen addresses;
	uint64_t hole_bytes;
	uint64_t shared_bytes; /* already stored for another file of this version */
	uint64_t unique_bytes;
	uint64_t stored_bytes; /* bytes of unique content as stored on the volume and in the index */
	uint64_t index_bytes;  /* unique content that is stored in the index */
	uint64_t chunks, compressed_chunks; /* of unique content */
	/* Reads of the volume, and their bytes in whole blocks, when every file is read once from start to end; small:
	 * those of files of up to STORAGE_SMALL bytes, which lie in one piece. */
	uint64_t reads, read_bytes, small_reads, small_bytes;
};

must_check int storage_open(struct storage *storage, const struct index *index, struct error *err);
void storage_close(struct storage *storage); /* accepts a zeroed one */
/* Adds a regular file. Call it once for each inode. */
must_check int storage_add(struct storage *storage, const struct index *index, const struct inode *inode,
			   struct error *err);
