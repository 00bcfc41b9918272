/* SPDX-License-Identifier: MIT */
/* Keeps a list of the top folders, and one for each split. */
#include "describe/survey/folders.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/grow.h"

/* Returns whether a folder is named as a split: 'train', 'val2017', 'test-small'. After the word no letter may follow,
 * and no character that controls a terminal. */
static bool folders_names_split(const char *name, size_t length)
{
	static const char *const words[] = { "train", "training", "val", "valid", "validation", "dev", "eval",
					     "test", "testing", "holdout" };
	size_t letters = 0;

	while (letters < length && isalpha((unsigned char)name[letters]))
		letters++;
	for (size_t i = letters; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (letters == strlen(words[i]) && !strncasecmp(name, words[i], letters))
			return true;
	return false;
}

static void folders_unsplit(struct folders *folders, struct folder *folder)
{
	if (!folder->below)
		return;
	folders_close(folder->below);
	free(take_ptr(&folder->below));
	folders->splits--;
}

void folders_close(struct folders *folders)
{
	for (size_t i = 0; i < folders->count; i++) {
		folders_unsplit(folders, &folders->list[i]);
		free(folders->list[i].name);
	}
	free(folders->list);
	*folders = (struct folders){ 0 };
}

static int folders_new(struct folders *folders, const char *name, uint8_t length, struct error *err)
{
	char *kept = malloc(length);

	if (!kept || grow(folders->list, folders->room, folders->count + 1, NULL) < 0) {
		free(kept);
		return error_no_memory(err);
	}
	memcpy(kept, name, length);
	folders->list[folders->count++] = (struct folder){ .name = kept, .length = length };
	return 0;
}

/* Returns the folders of the split that began last; NULL if the last folder is no split. */
static struct folders *folders_below(const struct folders *folders)
{
	return folders->count ? folders->list[folders->count - 1].below : NULL;
}

static int folders_split(struct folders *folders, size_t top, struct error *err)
{
	struct folders *below = calloc(1, sizeof(*below));

	if (!below)
		return error_no_memory(err);
	below->top = top;
	folders->list[folders->count - 1].below = below;
	folders->splits++;
	return 0;
}

int folders_begin(struct folders *folders, size_t parent, const char *name, uint8_t length, struct error *err)
{
	struct folders *below = folders_below(folders);
	struct folders *into = parent == folders->top ? folders : below && parent == below->top ? below : NULL;
	int r = into ? folders_new(into, name, length, err) : 0;

	if (r == 0 && into)
		into->list[into->count - 1].number = ++folders->numbers;
	if (r < 0 || into != folders)
		return r;
	if (folders->splits < FOLDERS_SPLITS && folders_names_split(name, length))
		r = folders_split(folders, parent + 1 + length, err);
	return r;
}

static void folders_count(struct folders *folders, size_t parent, const struct folder *counts)
{
	struct folder *folder = parent == folders->top ? &folders->outside : &folders->list[folders->count - 1];

	folder->files += counts->files;
	folder->bytes += counts->bytes;
	folder->symlinks += counts->symlinks;
}

void folders_add(struct folders *folders, size_t parent, const struct folder *counts)
{
	struct folders *below = folders_below(folders);

	folders_count(folders, parent, counts);
	if (below && parent != folders->top)
		folders_count(below, parent, counts);
}

uint32_t folders_number(const struct folders *folders, size_t parent)
{
	const struct folders *below = folders_below(folders);

	if (parent == folders->top)
		return 0;
	if (below && parent != below->top)
		return below->list[below->count - 1].number;
	return folders->list[folders->count - 1].number;
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

/* Turns splits back into plain folders unless they hold most of the files: a class may be called 'train' as well. */
static void folders_check_splits(struct folders *folders)
{
	uint64_t files = 0, in_splits = 0;

	for (size_t i = 0; i < folders->count; i++) {
		struct folder *folder = &folders->list[i];

		if (folder->below && (!folder->files || folder->below->outside.files > folder->files / 2))
			folders_unsplit(folders, folder);
		files += folder->files;
		in_splits += folder->below ? folder->files : 0;
	}
	for (size_t i = 0; i < folders->count && in_splits <= files / 2; i++)
		folders_unsplit(folders, &folders->list[i]);
}

void folders_sort(struct folders *folders)
{
	if (folders->count)
		qsort(folders->list, folders->count, sizeof(*folders->list), folders_compare);
	folders_check_splits(folders);
	for (size_t i = 0; i < folders->count; i++)
		if (folders->list[i].below)
			folders_sort(folders->list[i].below);
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
