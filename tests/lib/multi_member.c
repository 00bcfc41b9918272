/* SPDX-License-Identifier: MIT */
/* Passes everything on to the memory of a member, as the only one that it has. */
#include "lib/multi_member.h"

#include <errno.h>
#include <stdlib.h>

static struct source *several_member(struct source *source, uint32_t member)
{
	struct several *several = (struct several *)source;

	return member < several->count && !several->is_missing[member] ? &several->members[member].source : NULL;
}

static int several_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
			struct error *err)
{
	struct source *one = several_member(source, member);

	return one ? source_read(one, 0, offset, buffer, length, err) : error_set(err, -ENODEV, "it is missing");
}

static int several_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
			 struct error *err)
{
	struct source *one = several_member(source, member);

	return one ? source_write(one, 0, offset, buffer, length, err) : error_set(err, -ENODEV, "it is missing");
}

static int several_flush(struct source *source, struct error *err)
{
	struct several *several = (struct several *)source;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < several->count; i++)
		if (!several->is_missing[i])
			r = source_flush(&several->members[i].source, err);
	return r;
}

static uint64_t several_size(struct source *source, uint32_t member)
{
	struct source *one = several_member(source, member);

	return one ? source_size(one, 0) : 0;
}

static const struct source_ops several_ops = {
	.read = several_read,
	.write = several_write,
	.flush = several_flush,
	.size = several_size,
};

void several_init(struct several *several, uint32_t count, uint64_t size)
{
	if (count > SEVERAL_MAX)
		abort();
	*several = (struct several){ .source.ops = &several_ops, .count = count };
	for (uint32_t i = 0; i < count; i++)
		memory_init(&several->members[i], size);
}

void several_done(struct several *several)
{
	for (uint32_t i = 0; i < several->count; i++)
		memory_done(&several->members[i]);
}
