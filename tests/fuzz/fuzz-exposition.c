/* SPDX-License-Identifier: MIT */
/* The metrics of a mount, as the exporter reads them: a text that is accepted is accepted again beside another mount's,
 * and each of its lines has the label. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/exposition.h"
#include "fuzz/fuzz.h"

static bool add(struct exposition *exposition, const char *mountpoint, const uint8_t *bytes, size_t length)
{
	char *text = malloc(length + 1);
	struct error err = { 0 };
	int r;

	if (!text)
		abort();
	memcpy(text, bytes, length);
	r = exposition_add(exposition, mountpoint, text, length, &err);
	free(text);
	if (r < 0 && !err.reason[0])
		__builtin_trap();
	return r == 0;
}

/* Each line is of a family, or begins its labels with ours. */
static void check(const char *text, size_t length)
{
	const char *labels;

	for (const char *line = text, *end; line < text + length; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + length - line));
		if (!end)
			__builtin_trap();
		labels = memchr(line, '{', (size_t)(end - line));
		if (*line != '#' && (!labels || strncmp(labels, "{mountpoint=\"/", 14) != 0))
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct exposition *exposition;
	struct error err = { 0 };
	char *text = NULL;
	size_t written = 0;
	FILE *out;

	if (exposition_new(&exposition, &err) < 0)
		abort();
	if (add(exposition, "/a", bytes, length)) {
		if (!add(exposition, "/b", bytes, length))
			__builtin_trap();
		out = open_memstream(&text, &written);
		exposition_write(exposition, out);
		fclose(out);
		check(text, written);
		free(text);
	}
	exposition_free(exposition);
	return 0;
}
