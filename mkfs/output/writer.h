/* SPDX-License-Identifier: MIT */
/* Writes to the volume, in order in each of its lanes, and has everything read back. */
#pragma once
#include "base/program/progress.h"
#include "base/source.h"
#include "spill/temp.h"
#include "volume/space/allocator.h"

#define WRITER_BUFFER (4u << 20) /* bytes of a stream's buffer, if there are few streams */

struct writer;

/* Opens a writer, which takes space from the allocator; both belong to one thread. */
must_check int writer_open(struct source *source, struct allocator *allocator, const struct temp *temp,
			   struct writer **ret, struct error *err);
void writer_close(struct writer *writer);

/* Reserves contiguous space for the next length bytes, of one or more appends. -ENOSPC "volume is full". */
must_check int writer_reserve(struct writer *writer, uint64_t length, enum space_align align, struct error *err);
/* Reserves contiguous space like writer_reserve(), on the member with the fewest bytes of this size class. */
must_check int writer_reserve_anywhere(struct writer *writer, uint64_t length, enum space_align align,
				       struct error *err);
/* Returns the segment size in bytes, where extents in groups end at multiples; SPACE_ENDLESS for a volume of one
 * member, where nothing limits them. */
uint64_t writer_piece(const struct writer *writer);
/* Returns whether long content is spread over several members. */
bool writer_is_spread(const struct writer *writer);
/* Writes the next bytes of the reserved space; *ret_address is their address. */
must_check int writer_append(struct writer *writer, const void *bytes, size_t length, uint64_t *ret_address,
			     struct error *err);
/* Sets *ret to bytes that were written before, on the volume or still in a buffer; at most 2^DSFS_CHUNK_LOG_MAX. They
 * are valid until the next call. */
must_check int writer_view(struct writer *writer, uint64_t address, size_t length, const uint8_t **ret,
			   struct error *err);
/* Returns when everything was written, flushed, read back and compared. Only writer_close() may follow. */
must_check int writer_finish(struct writer *writer, struct progress *progress, struct error *err);
