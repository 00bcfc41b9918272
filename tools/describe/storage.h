/* SPDX-License-Identifier: MIT */
/* What the content of files takes on the volume: holes, what is stored once for several files, compression. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "describe/seen.h"
#include "image/index.h"
#include "image/inode.h"

/* Bytes of content, but stored. Holes, shared and unique ones together are the content of all files. */
struct storage {
	struct seen addresses;
	uint64_t hole_bytes;
	uint64_t shared_bytes; /* lie where the same content of this version lies already */
	uint64_t unique_bytes;
	uint64_t stored_bytes; /* what the unique ones take on the volume and in the index */
	uint64_t index_bytes;  /* of the unique ones, those that lie in the index */
	uint64_t chunks, compressed_chunks; /* of the unique ones */
};

must_check int storage_open(struct storage *storage, const struct index *index, struct error *err);
void storage_close(struct storage *storage); /* a zeroed one as well */
/* A regular file, once. */
must_check int storage_add(struct storage *storage, const struct index *index, const struct inode *inode,
			   struct error *err);
