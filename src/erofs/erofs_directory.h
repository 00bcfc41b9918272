/* SPDX-License-Identifier: MIT */
/* Writes a directory the way EROFS stores it: in blocks, each with its dirents and then their names. */
#pragma once
#include "base/error.h"
#include "erofs/erofs_format.h"
#include "erofs/erofs_sink.h"
#include "image/names/names.h"

struct erofs_directory {
	struct erofs_sink *sink; /* receives full blocks */
	uint64_t full;           /* number of full blocks so far */
	/* The block that is being filled. */
	struct erofs_dirent dirents[EROFS_BLOCK / sizeof(struct erofs_dirent)];
	uint32_t count, name_bytes;
	char names[EROFS_BLOCK];
	uint8_t block[EROFS_BLOCK]; /* after erofs_directory_end(): the last block */
	uint32_t size;              /* used bytes of block */
};

void erofs_directory_begin(struct erofs_directory *directory, struct erofs_sink *sink);
/* Adds an entry. Names must come in bytewise order, with "." and ".." among them. */
must_check int erofs_directory_add(struct erofs_directory *directory, const char *name, size_t length, uint64_t nid,
				   uint8_t type, struct error *err);
void erofs_directory_end(struct erofs_directory *directory);
