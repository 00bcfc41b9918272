/* SPDX-License-Identifier: MIT */
/* Grows the text by doubling it. */
#include "base/text/memstream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MEMSTREAM_FIRST 256u /* bytes */

struct memstream {
	char **text;
	size_t *length, room;
	bool has_failed;
};

static bool memstream_grow(struct memstream *stream, size_t size)
{
	size_t room = stream->room;
	char *text;

	while (room < size)
		room *= 2;
	text = room == stream->room ? *stream->text : realloc(*stream->text, room);
	if (!text)
		return false;
	*stream->text = text;
	stream->room = room;
	return true;
}

static ssize_t memstream_write(void *cookie, const char *bytes, size_t size)
{
	struct memstream *stream = cookie;

	if (stream->has_failed || !memstream_grow(stream, *stream->length + size + 1)) {
		stream->has_failed = true;
		errno = ENOMEM;
		return 0; /* an error, says fopencookie(3) */
	}
	memcpy(*stream->text + *stream->length, bytes, size);
	*stream->length += size;
	(*stream->text)[*stream->length] = 0;
	return (ssize_t)size;
}

static int memstream_end(void *cookie)
{
	struct memstream *stream = cookie;
	bool has_failed = stream->has_failed;

	free(stream);
	if (has_failed)
		errno = ENOMEM;
	return has_failed ? -1 : 0;
}

FILE *memstream_open(char **text, size_t *length)
{
	const cookie_io_functions_t calls = { .write = memstream_write, .close = memstream_end };
	struct memstream *stream = malloc(sizeof(*stream));
	FILE *out = NULL;

	*text = malloc(MEMSTREAM_FIRST);
	*length = 0;
	if (stream && *text) {
		**text = 0;
		*stream = (struct memstream){ .text = text, .length = length, .room = MEMSTREAM_FIRST };
		out = fopencookie(stream, "w", calls);
	}
	if (out)
		return out;
	free(stream);
	free(*text);
	*text = NULL;
	return NULL;
}

int memstream_close(FILE *stream, char **text, struct error *err)
{
	if (fclose(stream) == 0)
		return 0;
	free(*text);
	*text = NULL;
	return error_no_memory(err);
}
