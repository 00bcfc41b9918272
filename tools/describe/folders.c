/* SPDX-License-Identifier: MIT */
/* A list of the top folders. */
#include "describe/folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void folders_close(struct folders *folders)
{
	for (size_t i = 0; i < folders->count; i++)
		free(folders->list[i].name);
	free(folders->list);
	*folders = (struct folders){ 0 };
}

static int folders_grow(struct folders *folders)
{
	size_t room = folders->room ? 2 * folders->room : 64;
	struct folder *grown;

	if (folders->count < folders->room)
		return 0;
	grown = realloc(folders->list, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	folders->list = grown;
	folders->room = room;
	return 0;
}

int folders_begin(struct folders *folders, const char *name, uint8_t length, struct error *err)
{
	char *kept = malloc(length);

	if (!kept || folders_grow(folders) < 0) {
		free(kept);
		return error_set(err, -ENOMEM, "no memory for the top folders");
	}
	memcpy(kept, name, length);
	folders->list[folders->count++] = (struct folder){ .name = kept, .length = length };
	return 0;
}

static int folders_compare(const void *a, const void *b)
{
	const struct folder *x = a, *y = b;
	int r;

	if (x->files != y->files)
		return x->files > y->files ? -1 : 1;
	r = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);
	return r ? r : (x->length > y->length) - (x->length < y->length);
}

void folders_sort(struct folders *folders)
{
	if (folders->count)
		qsort(folders->list, folders->count, sizeof(*folders->list), folders_compare);
}

struct folders_balance folders_weigh(const struct folders *folders)
{
	struct folders_balance balance = { .empty = folders->count };
	size_t n = 0;

	while (n < folders->count && folders->list[n].files)
		n++;
	balance.count = n;
	balance.empty -= n;
	if (!n)
		return balance;
	balance.largest = &folders->list[0];
	balance.smallest = &folders->list[n - 1];
	balance.median = ((double)folders->list[(n - 1) / 2].files + (double)folders->list[n / 2].files) / 2;
	balance.ratio = (double)balance.largest->files / (double)balance.smallest->files;
	return balance;
}
