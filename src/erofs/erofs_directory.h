/* SPDX-License-Identifier: MIT */
/* The entries of a directory as EROFS has them: in blocks, each with its dirents and then their names. */
#pragma once
#include "base/error.h"
#include "erofs/erofs_format.h"
#include "erofs/erofs_sink.h"
#include "image/names.h"

struct erofs_directory {
	struct erofs_sink *sink; /* gets full blocks */
	uint64_t full;           /* how many it got */
	/* The block that is being filled: */
	struct erofs_dirent dirents[EROFS_BLOCK / sizeof(struct erofs_dirent)];
	uint32_t count, name_bytes;
	char names[EROFS_BLOCK];
	uint8_t block[EROFS_BLOCK]; /* after erofs_directory_end(): the last one, */
	uint32_t size;              /* and so many bytes of it */
};

void erofs_directory_begin(struct erofs_directory *directory, struct erofs_sink *sink);
/* Names must come in bytewise order; "." and ".." take their place among them. */
must_check int erofs_directory_add(struct erofs_directory *directory, const char *name, size_t length, uint64_t nid,
				   uint8_t type, struct error *err);
void erofs_directory_end(struct erofs_directory *directory);
