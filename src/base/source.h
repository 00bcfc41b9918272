/* SPDX-License-Identifier: MIT */
/* The seam below the format: an interface through which the bytes of a volume are read and written. io/file.c
 * implements it for files; tests replace it with memory, damage and failures. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct source;

/* One of several reads that may run in parallel. */
struct source_part {
	uint32_t member;
	uint64_t offset;
	void *buffer;
	size_t length;
	struct error err; /* result of the read: code 0 if the buffer is filled */
	void *pending;    /* owned by the source while the read is in flight */
};

/* Any offset, length and buffer is accepted; offsets and lengths that are multiples of 512, and buffers aligned to
 * 4096, are faster. A read past the end fails with -ENODATA: reads are never short. */
struct source_ops {
	int (*read)(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		    struct error *err);
	/* begin_part starts a read, end_part waits for it. NULL: reads are made one by one. */
	int (*begin_part)(struct source *source, struct source_part *part, struct error *err);
	int (*end_part)(struct source *source, struct source_part *part, struct error *err);
	int (*write)(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
		     struct error *err);
	int (*flush)(struct source *source, struct error *err); /* makes all earlier writes durable */
	int (*flush_member)(struct source *source, uint32_t member, struct error *err); /* NULL: flush is called */
	uint64_t (*size)(struct source *source, uint32_t member); /* bytes now; 0 if there is no such member */
};

struct source {
	const struct source_ops *ops;
	uint32_t count; /* members; 0: not known */
};

must_check static inline int source_read(struct source *source, uint32_t member, uint64_t offset, void *buffer,
					 size_t length, struct error *err)
{
	return source->ops->read(source, member, offset, buffer, length, err);
}

/* Makes all reads, in parallel if the source can. A read that could not be started, for lack of threads or descriptors,
 * is made at the end. */
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
