/* SPDX-License-Identifier: MIT */
/* How much the content of files takes on the volume: holes, content shared by several files, compression. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "describe/seen.h"
#include "image/index.h"
#include "image/inode.h"

/* Bytes of content, except stored. Holes, shared and unique content add up to the size of all files. */
struct storage {
	struct seen addresses;
	uint64_t hole_bytes;
	uint64_t shared_bytes; /* already stored for another file of this version */
	uint64_t unique_bytes;
	uint64_t stored_bytes; /* what unique content takes on the volume and in the index */
	uint64_t index_bytes;  /* unique content that is stored in the index */
	uint64_t chunks, compressed_chunks; /* of the unique ones */
};

must_check int storage_open(struct storage *storage, const struct index *index, struct error *err);
void storage_close(struct storage *storage); /* a zeroed one as well */
/* A regular file, once. */
must_check int storage_add(struct storage *storage, const struct index *index, const struct inode *inode,
			   struct error *err);
