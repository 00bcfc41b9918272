/* SPDX-License-Identifier: MIT */
/* Reads the file contents that an image holds a copy of. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "erofs/erofs_sink.h"
#include "image/chunk.h"
#include "image/members/backing.h"

struct erofs_content {
	struct backing backing;
	const struct index *index;
	uint8_t *window; /* the bytes that were read last */
	uint64_t from, length;
	uint8_t *chunk; /* room for one chunk */
};

must_check int erofs_content_open(struct source *source, const struct index *index, struct erofs_content *ret,
				  struct error *err);
void erofs_content_close(struct erofs_content *content);

/* Copies length bytes of the file from offset; they must end with the file or with a chunk. Every chunk is verified,
 * even if only a part of it is copied. */
must_check int erofs_content_copy(struct erofs_content *content, const struct inode *inode, uint64_t offset,
				  uint64_t length, struct erofs_sink *sink, struct error *err);
