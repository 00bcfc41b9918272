/* SPDX-License-Identifier: MIT */
/* Parses member, offset and length of each line. */
#include "scrub/places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text/line.h"
#include "base/text/parse.h"
#include "image/members/address.h"

struct places {
	const struct rows *rows;
	const struct members *members;
	uint64_t *windows;
	size_t count, room;
};

static int places_add(struct places *places, uint64_t window, struct error *err)
{
	int r = grow(places->windows, places->room, places->count + 1, err);

	if (r == 0)
		places->windows[places->count++] = window;
	return r;
}

/* Parses a line, and adds the windows with its place. The last line of a list that is full begins with '#'. */
static int places_parse(struct places *places, char *line, struct error *err)
{
	char *rest = line, *member = strsep(&rest, "\t"), *offset = strsep(&rest, "\t"), *length = strsep(&rest, "\t");
	uint64_t m, at, bytes, first, last;
	int r = 0;

	if (!line[0] || line[0] == '#')
		return 0;
	if (!length || parse_u64(member, 0, DSFS_MEMBER_MAX, &m, NULL) < 0 ||
	    parse_u64(offset, 0, (UINT64_C(1) << DSFS_ADDRESS_BITS) - 1, &at, NULL) < 0 ||
	    parse_u64(length, 1, UINT32_MAX, &bytes, NULL) < 0)
		return error_set(err, -EINVAL, "a line '%s', expected member, offset and length, tabs between them",
				 line);
	first = rows_find(places->rows, places->members, address_make((uint32_t)m, at));
	last = rows_find(places->rows, places->members, address_make((uint32_t)m, at + bytes - 1));
	for (uint64_t i = first; r == 0 && i <= last && i < places->rows->windows && i - first < 4; i++)
		r = places_add(places, i, err);
	return r;
}

static int places_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void places_sort(struct places *places)
{
	uint64_t kept = 0;

	if (places->count)
		qsort(places->windows, places->count, sizeof(*places->windows), places_compare);
	for (uint64_t i = 0; i < places->count; i++)
		if (!kept || places->windows[kept - 1] != places->windows[i])
			places->windows[kept++] = places->windows[i];
	places->count = kept;
}

int places_read(const char *path, const struct rows *rows, const struct members *members, uint64_t **ret,
		uint64_t *ret_count, struct error *err)
{
	auto_fclose FILE *file = fopen(path, "re");
	struct places places = { .rows = rows, .members = members };
	auto_free char *line = NULL;
	size_t room = 0;
	int r = file ? 0 : error_errno(err, "'%s'", path);

	while (r == 0 && getline(&line, &room, file) > 0) {
		line_cut(line);
		r = places_parse(&places, line, err);
	}
	if (r == 0 && ferror(file))
		r = error_errno(err, "'%s'", path);
	if (r < 0) {
		free(places.windows);
		return r;
	}
	places_sort(&places);
	*ret = places.windows;
	*ret_count = places.count;
	return 0;
}
