/* SPDX-License-Identifier: MIT */
/* Passes everything on to the memory of a member, as the only one that it has. */
#include "lib/multi_member.h"

#include <errno.h>
#include <stdlib.h>

static struct source *multi_member_at(struct source *source, uint32_t member)
{
	struct multi_member *volume = (struct multi_member *)source;

	return member < volume->count && !volume->is_missing[member] ? &volume->members[member].source : NULL;
}

static int multi_member_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
			     struct error *err)
{
	struct source *one = multi_member_at(source, member);

	return one ? source_read(one, 0, offset, buffer, length, err) : error_set(err, -ENODEV, "it is missing");
}

static int multi_member_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer,
			      size_t length, struct error *err)
{
	struct source *one = multi_member_at(source, member);

	return one ? source_write(one, 0, offset, buffer, length, err) : error_set(err, -ENODEV, "it is missing");
}

static int multi_member_flush(struct source *source, struct error *err)
{
	struct multi_member *volume = (struct multi_member *)source;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < volume->count; i++)
		if (!volume->is_missing[i])
			r = source_flush(&volume->members[i].source, err);
	return r;
}

static uint64_t multi_member_size(struct source *source, uint32_t member)
{
	struct source *one = multi_member_at(source, member);

	return one ? source_size(one, 0) : 0;
}

static const struct source_ops multi_member_ops = {
	.read = multi_member_read,
	.write = multi_member_write,
	.flush = multi_member_flush,
	.size = multi_member_size,
};

void multi_member_init(struct multi_member *volume, uint32_t count, uint64_t size)
{
	if (count > MULTI_MEMBER_MAX)
		abort();
	*volume = (struct multi_member){ .source.ops = &multi_member_ops, .count = count };
	for (uint32_t i = 0; i < count; i++)
		memory_init(&volume->members[i], size);
}

void multi_member_done(struct multi_member *volume)
{
	for (uint32_t i = 0; i < volume->count; i++)
		memory_done(&volume->members[i]);
}
