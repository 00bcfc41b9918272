/* SPDX-License-Identifier: MIT */
/* The seam below the format: where bytes of a volume are read from and written to. io/file.c is the real one; tests
 * replace it with memory, damage and failures. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct source;

/* One of several reads that need not wait for each other. */
struct source_part {
	uint32_t member;
	uint64_t offset;
	void *buffer;
	size_t length;
	struct error err; /* afterwards: code 0 when the bytes are there */
	void *pending;    /* the source's, while it is under way */
};

/* Offsets and lengths of read and write are multiples of 512 and buffers aligned to 4096 for speed only:
 * anything is accepted. A read past the end is -ENODATA, never short. */
struct source_ops {
	int (*read)(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		    struct error *err);
	/* Begins a read, and waits for it; NULL: reads are made one by one. */
	int (*begin_part)(struct source *source, struct source_part *part, struct error *err);
	int (*end_part)(struct source *source, struct source_part *part, struct error *err);
	int (*write)(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
		     struct error *err);
	int (*flush)(struct source *source, struct error *err); /* what was written is durable after it */
	int (*flush_member)(struct source *source, uint32_t member, struct error *err); /* NULL: all are flushed */
	uint64_t (*size)(struct source *source, uint32_t member); /* bytes now; 0 when there is no such member */
};

struct source {
	const struct source_ops *ops;
	uint32_t count; /* members; 0: nobody counted them */
};

must_check static inline int source_read(struct source *source, uint32_t member, uint64_t offset, void *buffer,
					 size_t length, struct error *err)
{
	return source->ops->read(source, member, offset, buffer, length, err);
}

/* All at once where the source can; where means for that are short, what could not begin comes afterwards. */
void source_read_parts(struct source *source, struct source_part *parts, size_t count);

must_check static inline int source_write(struct source *source, uint32_t member, uint64_t offset,
					  const void *buffer, size_t length, struct error *err)
{
	return source->ops->write(source, member, offset, buffer, length, err);
}

must_check static inline int source_flush(struct source *source, struct error *err)
{
	return source->ops->flush(source, err);
}

must_check static inline int source_flush_member(struct source *source, uint32_t member, struct error *err)
{
	return source->ops->flush_member ? source->ops->flush_member(source, member, err) :
					   source->ops->flush(source, err);
}

static inline uint64_t source_size(struct source *source, uint32_t member)
{
	return source->ops->size(source, member);
}
