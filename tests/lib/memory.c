/* SPDX-License-Identifier: MIT */
/* Byte sources over memory that fail when told. */
#include "lib/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int memory_call(struct memory *memory, struct error *err)
{
	uint64_t call = atomic_fetch_add(&memory->calls, 1) + 1;

	return call == memory->fail_at ? error_set(err, -EIO, "injected failure of call %" PRIu64, call) : 0;
}

static int memory_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		       struct error *err)
{
	struct memory *memory = (struct memory *)source;
	int r = memory_call(memory, err);

	if (r < 0)
		return r;
	if (member != 0 || length > memory->size || offset > memory->size - length)
		return error_set(err, -ENODATA, "read past the end");
	memcpy(buffer, memory->bytes + offset, length);
	return 0;
}

static int memory_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
			struct error *err)
{
	struct memory *memory = (struct memory *)source;
	int r = memory_call(memory, err);

	if (r < 0)
		return r;
	if (member != 0 || length > memory->room || offset > memory->room - length)
		return error_set(err, -ENOSPC, "write past the end");
	memcpy(memory->bytes + offset, buffer, length);
	if (offset + length > memory->size)
		memory->size = offset + length;
	return 0;
}

static int memory_flush(struct source *source, struct error *err)
{
	return memory_call((struct memory *)source, err);
}

static uint64_t memory_size(struct source *source, uint32_t member)
{
	return member == 0 ? ((struct memory *)source)->size : 0;
}

static const struct source_ops memory_ops = {
	.read = memory_read,
	.write = memory_write,
	.flush = memory_flush,
	.size = memory_size,
};

void memory_init(struct memory *memory, uint64_t size)
{
	*memory = (struct memory){ .source.ops = &memory_ops, .size = size, .room = size };
	memory->bytes = calloc(1, size ? size : 1);
	if (!memory->bytes)
		abort();
}

void memory_done(struct memory *memory)
{
	free(memory->bytes);
}
