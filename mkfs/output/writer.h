/* SPDX-License-Identifier: MIT */
/* Writes to the volume in order, through large buffers and a thread; everything is read back. */
#pragma once
#include "base/progress.h"
#include "base/source.h"
#include "spill/temp.h"
#include "volume/space.h"

#define WRITER_BUFFER (4u << 20)

struct writer;

/* The writer takes from space as it goes; both belong to one thread. */
must_check int writer_open(struct source *source, struct space *space, const struct temp *temp, struct writer **ret,
			   struct error *err);
void writer_close(struct writer *writer);

/* Makes the next length bytes (of one or more appends) lie in one piece. -ENOSPC "volume is full". */
must_check int writer_place(struct writer *writer, uint64_t length, enum space_align align, struct error *err);
/* The next bytes of the placed piece; *ret_address is where they will lie. */
must_check int writer_append(struct writer *writer, const void *bytes, size_t length, uint64_t *ret_address,
			     struct error *err);
/* Bytes written earlier, on the volume or still in a buffer; at most 2^DSFS_CHUNK_LOG_MAX of them. Valid until the
 * next call. */
must_check int writer_view(struct writer *writer, uint64_t address, size_t length, const uint8_t **ret,
			   struct error *err);
/* Everything appended was written, flushed, read again and compared with what was meant. The last call but close. */
must_check int writer_finish(struct writer *writer, struct progress *progress, struct error *err);
