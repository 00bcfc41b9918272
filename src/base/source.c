/* SPDX-License-Identifier: MIT */
/* Runs several reads of a source at once. */
#include "base/source.h"

#include <errno.h>

static int source_begin(struct source *source, struct source_part *part, struct error *err)
{
	part->pending = NULL;
	if (source->ops->begin_part)
		return source->ops->begin_part(source, part, err);
	return source_read(source, part->member, part->offset, part->buffer, part->length, err);
}

static int source_end(struct source *source, struct source_part *part, struct error *err)
{
	int code = part->err.code;

	if (part->pending)
		return source->ops->end_part(source, part, err);
	if (code != -EAGAIN && code != -EMFILE)
		return code;
	return source_read(source, part->member, part->offset, part->buffer, part->length, err);
}

void source_read_parts(struct source *source, struct source_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		error_clear(&parts[i].err);
		if (source_begin(source, &parts[i], &parts[i].err) == 0)
			error_clear(&parts[i].err);
	}
	for (size_t i = 0; i < count; i++)
		if (source_end(source, &parts[i], &parts[i].err) == 0)
			error_clear(&parts[i].err);
}
