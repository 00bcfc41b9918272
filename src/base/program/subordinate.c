/* SPDX-License-Identifier: MIT */
/* Looks up no names, which could ask a network: ranges of one user are those of one name. */
#include "base/program/subordinate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text/parse.h"

struct subordinate_range {
	uint32_t first, last, share;
	char *name; /* NULL once all are read */
};

struct subordinate {
	struct subordinate_range *items; /* by their first IDs */
	size_t count;
};

static void subordinate_forget_names(struct subordinate *subordinate)
{
	for (size_t i = 0; i < subordinate->count; i++) {
		free(subordinate->items[i].name);
		subordinate->items[i].name = NULL;
	}
}

void subordinate_free(struct subordinate *subordinate)
{
	if (!subordinate)
		return;
	subordinate_forget_names(subordinate);
	free(subordinate->items);
	free(subordinate);
}

/* NAME:FIRST:COUNT. False: it is none. */
static bool subordinate_parse(char *line, struct subordinate_range *ret)
{
	char *rest = line, *name = strsep(&rest, ":"), *first = strsep(&rest, ":"), *count = strsep(&rest, "\n");
	uint64_t from, length;

	if (!count || !*name || parse_u64(first, 0, UINT32_MAX - 1, &from, NULL) < 0 ||
	    parse_u64(count, 1, UINT32_MAX - from, &length, NULL) < 0)
		return false;
	*ret = (struct subordinate_range){ .name = name, .first = (uint32_t)from,
					   .last = (uint32_t)(from + length - 1) };
	return true;
}

static int subordinate_add(struct subordinate *subordinate, char *line, struct error *err)
{
	struct subordinate_range range;
	int r;

	if (!subordinate_parse(line, &range))
		return 0;
	r = grow_one(subordinate->items, subordinate->count, err);
	if (r < 0)
		return r;
	range.name = strdup(range.name);
	if (!range.name)
		return error_no_memory(err);
	subordinate->items[subordinate->count++] = range;
	return 0;
}

static int subordinate_compare_names(const void *a, const void *b)
{
	const struct subordinate_range *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : (left->first > right->first) - (left->first < right->first);
}

static int subordinate_compare(const void *a, const void *b)
{
	const struct subordinate_range *left = a, *right = b;

	return (left->first > right->first) - (left->first < right->first);
}

static void subordinate_sort(struct subordinate *subordinate)
{
	struct subordinate_range *items = subordinate->items;

	if (!subordinate->count)
		return;
	qsort(items, subordinate->count, sizeof(*items), subordinate_compare_names);
	for (size_t i = 0; i < subordinate->count; i++)
		items[i].share = i && !strcmp(items[i].name, items[i - 1].name) ? items[i - 1].share : items[i].first;
	qsort(items, subordinate->count, sizeof(*items), subordinate_compare);
	subordinate_forget_names(subordinate);
}

static int subordinate_read_lines(FILE *file, struct subordinate *subordinate, struct error *err)
{
	auto_free char *line = NULL;
	size_t size = 0;
	int r = 0;

	while (r == 0 && getline(&line, &size, file) >= 0)
		r = subordinate_add(subordinate, line, err);
	return r;
}

int subordinate_read(const char *path, struct subordinate **ret, struct error *err)
{
	struct subordinate *subordinate = calloc(1, sizeof(*subordinate));
	FILE *file = fopen(path, "re");
	int r = file ? 0 : error_errno(err, "cannot open '%s'", path);

	if (!subordinate)
		r = error_no_memory(err);
	if (r == 0)
		r = subordinate_read_lines(file, subordinate, err);
	if (file)
		fclose(file);
	if (r < 0) {
		subordinate_free(subordinate);
		return r;
	}
	subordinate_sort(subordinate);
	*ret = subordinate;
	return 0;
}

static int subordinate_compare_id(const void *key, const void *item)
{
	const struct subordinate_range *range = item;
	uint32_t uid = *(const uint32_t *)key;

	return uid < range->first ? -1 : uid > range->last;
}

uint32_t subordinate_share(const struct subordinate *subordinate, uint32_t uid)
{
	const struct subordinate_range *range = NULL;

	if (subordinate && subordinate->count && uid >= subordinate->items[0].first)
		range = bsearch(&uid, subordinate->items, subordinate->count, sizeof(*range), subordinate_compare_id);
	return range ? range->share : uid;
}
