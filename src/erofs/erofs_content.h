/* SPDX-License-Identifier: MIT */
/* The bytes of files on the volume: reads the few that an image takes over. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "erofs/erofs_sink.h"
#include "image/chunk.h"

struct erofs_content {
	struct source *source;
	const struct index *index;
	uint8_t *window; /* what was read last: */
	uint64_t from, length;
	uint8_t *chunk; /* room for one */
};

must_check int erofs_content_open(struct source *source, const struct index *index, struct erofs_content *ret,
				  struct error *err);
void erofs_content_close(struct erofs_content *content);

/* The bytes of the file from offset on, which end with it or with a chunk. Each chunk is verified, also where a part of
 * it is copied. */
must_check int erofs_content_copy(struct erofs_content *content, const struct inode *inode, uint64_t offset,
				  uint64_t length, struct erofs_sink *sink, struct error *err);
