/* SPDX-License-Identifier: MIT */
/* Merges both versions twice: the first pass finds moved files, the second counts and lists changes. */
#include "describe/diff/diff.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "describe/common/content.h"
#include "describe/diff/attributes.h"
#include "describe/diff/merge.h"
#include "describe/diff/moves.h"
#include "image/inode.h"

struct diff_pass {
	const struct subject *from, *to;
	struct diff *diff;
	struct moves moves;
	uint64_t from_number, to_number; /* numbers of the next file that may have been moved, on either side */
	struct moves_pair *by_from, *by_to; /* listed moves: number of the file, number of its item */
	size_t listed;
};

static void diff_free_count(struct diff_count *count)
{
	for (size_t i = 0; i < count->count; i++) {
		free(count->items[i].path);
		free(count->items[i].to);
	}
	free(count->items);
}

void diff_free(struct diff *diff)
{
	for (unsigned kind = 0; diff && kind < DIFF_KINDS; kind++)
		diff_free_count(&diff->kinds[kind]);
	free(diff);
}

/* --- the first merge: files that only one of them has --- */

/* Returns 1 if the file may have been moved: empty files are all equal and do not count. */
static int diff_may_move(const struct index *index, const struct walk_entry *entry, struct inode *inode,
			 struct error *err)
{
	int r;

	if (entry->type != DT_REG)
		return 0;
	r = inode_get(index, entry->ordinal, inode, err);
	return r < 0 ? r : inode->size > 0;
}

static int diff_note(const struct index *index, const struct walk_entry *entry, struct moves_side *side,
		     struct error *err)
{
	struct inode inode;
	uint64_t key;
	int r = diff_may_move(index, entry, &inode, err);

	if (r <= 0)
		return r;
	r = content_key(index, &inode, &key, err);
	return r < 0 ? r : moves_add(side, key, err);
}

static int diff_find(void *argument, const struct walk_entry *a, const struct walk_entry *b, struct error *err)
{
	struct diff_pass *pass = argument;

	if (a && b)
		return 0;
	return a ? diff_note(pass->from->index, a, &pass->moves.from, err) :
		   diff_note(pass->to->index, b, &pass->moves.to, err);
}

/* --- lists --- */

static int diff_keep(char **ret, size_t *ret_length, const struct walk_entry *entry, struct error *err)
{
	*ret = malloc(entry->length);
	if (!*ret)
		return error_no_memory(err);
	memcpy(*ret, entry->path, entry->length);
	*ret_length = entry->length;
	return 0;
}

/* Adds an item to the list of a kind. The list of moved files gets its memory at the beginning. */
static int diff_list(struct diff_count *count, size_t limit, const struct walk_entry *entry,
		     const struct diff_item *item, struct error *err)
{
	struct diff_item *grown;
	int r;

	if (count->count >= limit)
		return 0;
	if ((count->count & (count->count - 1)) == 0) {
		grown = realloc(count->items, (count->count ? 2 * count->count : 1) * sizeof(*grown));
		if (!grown)
			return error_no_memory(err);
		count->items = grown;
	}
	count->items[count->count] = *item;
	r = diff_keep(&count->items[count->count].path, &count->items[count->count].length, entry, err);
	count->count += r == 0;
	return r;
}

static uint64_t diff_size(const struct inode *inode)
{
	return S_ISREG(inode->mode) ? inode->size : 0;
}

static void diff_count(struct diff_count *count, const struct inode *inode)
{
	count->files += S_ISREG(inode->mode);
	count->bytes += diff_size(inode);
	count->directories += S_ISDIR(inode->mode);
	count->symlinks += S_ISLNK(inode->mode);
}

/* --- the second merge --- */

static int diff_compare_number(const void *a, const void *b)
{
	const struct moves_pair *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Returns the item of a file with this number; NULL if it is not listed. */
static struct diff_item *diff_listed(struct diff_pass *pass, const struct moves_pair *pairs, uint64_t number)
{
	struct moves_pair key = { .from = number };
	const struct moves_pair *found =
		pass->listed ? bsearch(&key, pairs, pass->listed, sizeof(*pairs), diff_compare_number) : NULL;

	return found ? &pass->diff->kinds[DIFF_MOVED].items[found->to] : NULL;
}

/* Notes the file's former name; its new name may come before or after. */
static int diff_moved_from(struct diff_pass *pass, const struct walk_entry *entry, const struct inode *inode,
			   struct error *err)
{
	struct diff_item *item = diff_listed(pass, pass->by_from, pass->from_number - 1);

	diff_count(&pass->diff->kinds[DIFF_MOVED], inode);
	if (!item)
		return 0;
	item->mode = inode->mode;
	item->size = inode->size;
	return diff_keep(&item->path, &item->length, entry, err);
}

static int diff_moved_to(struct diff_pass *pass, const struct walk_entry *entry, struct error *err)
{
	struct diff_item *item = diff_listed(pass, pass->by_to, pass->to_number - 1);

	return item ? diff_keep(&item->to, &item->to_length, entry, err) : 0;
}

static int diff_single(struct diff_pass *pass, enum diff_kind kind, const struct walk_entry *entry,
		       const struct inode *inode, struct error *err)
{
	struct diff_item item = { .mode = inode->mode, .size = diff_size(inode) };

	diff_count(&pass->diff->kinds[kind], inode);
	return diff_list(&pass->diff->kinds[kind], pass->to->limit, entry, &item, err);
}

static int diff_removed(struct diff_pass *pass, const struct walk_entry *entry, struct error *err)
{
	struct inode inode;
	int r = inode_get(pass->from->index, entry->ordinal, &inode, err);

	if (r < 0)
		return r;
	if (S_ISREG(inode.mode) && inode.size && moves_is_moved(&pass->moves.from, pass->from_number++))
		return diff_moved_from(pass, entry, &inode, err);
	return diff_single(pass, DIFF_REMOVED, entry, &inode, err);
}

static int diff_added(struct diff_pass *pass, const struct walk_entry *entry, struct error *err)
{
	struct inode inode;
	int r = inode_get(pass->to->index, entry->ordinal, &inode, err);

	if (r < 0)
		return r;
	if (S_ISREG(inode.mode) && inode.size && moves_is_moved(&pass->moves.to, pass->to_number++))
		return diff_moved_to(pass, entry, err);
	return diff_single(pass, DIFF_ADDED, entry, &inode, err);
}

static int diff_content(const struct diff_pass *pass, const struct inode *a, const struct inode *b,
			enum diff_kind *ret, struct error *err)
{
	uint64_t x, y;
	int r;

	*ret = DIFF_CHANGED;
	if ((a->mode & S_IFMT) != (b->mode & S_IFMT) || diff_size(a) != diff_size(b))
		return 0;
	*ret = DIFF_UNKNOWN;
	if (S_ISREG(a->mode) && !content_is_comparable(pass->from->index, pass->to->index, a->size))
		return 0;
	*ret = DIFF_SAME;
	if (S_ISDIR(a->mode))
		return 0;
	r = content_key(pass->from->index, a, &x, err);
	if (r == 0)
		r = content_key(pass->to->index, b, &y, err);
	if (r == 0 && x != y)
		*ret = DIFF_CHANGED;
	return r;
}

/* Compares the two files of a name that both versions have. */
static int diff_both(struct diff_pass *pass, const struct walk_entry *a, const struct walk_entry *b, struct error *err)
{
	struct diff_item item = { 0 };
	enum diff_kind kind = DIFF_SAME;
	struct inode former, inode;
	int r = inode_get(pass->from->index, a->ordinal, &former, err);

	if (r == 0)
		r = inode_get(pass->to->index, b->ordinal, &inode, err);
	if (r == 0)
		r = diff_content(pass, &former, &inode, &kind, err);
	if (r == 0 && kind == DIFF_SAME)
		r = attributes_compare(pass->from->index, &former, pass->to->index, &inode, &item.what, err);
	if (r < 0)
		return r;
	if (item.what)
		kind = DIFF_METADATA;
	diff_count(&pass->diff->kinds[kind], &inode);
	pass->diff->kinds[kind].former_bytes += diff_size(&former);
	if (kind == DIFF_SAME)
		return 0;
	item.mode = inode.mode;
	item.former_mode = former.mode;
	item.size = diff_size(&inode);
	item.former_size = diff_size(&former);
	return diff_list(&pass->diff->kinds[kind], pass->to->limit, b, &item, err);
}

static int diff_each(void *argument, const struct walk_entry *a, const struct walk_entry *b, struct error *err)
{
	if (a && b)
		return diff_both(argument, a, b, err);
	return a ? diff_removed(argument, a, err) : diff_added(argument, b, err);
}

/* Chooses the moved files that are listed, and sorts them by the number of either name to find them. */
static int diff_choose(struct diff_pass *pass, struct error *err)
{
	struct diff_count *moved = &pass->diff->kinds[DIFF_MOVED];
	size_t most = pass->to->limit < pass->moves.from.count ? pass->to->limit : pass->moves.from.count;

	pass->by_from = calloc(most + 1, sizeof(*pass->by_from));
	pass->by_to = calloc(most + 1, sizeof(*pass->by_to));
	moved->items = calloc(most + 1, sizeof(*moved->items));
	if (!pass->by_from || !pass->by_to || !moved->items)
		return error_no_memory(err);
	pass->listed = moved->count = moves_first(&pass->moves, pass->by_from, most);
	for (size_t i = 0; i < pass->listed; i++) {
		pass->by_to[i] = (struct moves_pair){ pass->by_from[i].to, i };
		pass->by_from[i].to = i;
	}
	if (pass->listed)
		qsort(pass->by_to, pass->listed, sizeof(*pass->by_to), diff_compare_number);
	return 0;
}

static int diff_compare(struct diff_pass *pass, struct error *err)
{
	const struct index *a = pass->from->index, *b = pass->to->index;
	int r = merge_run(a, b, pass->to->below, diff_find, pass, err);

	if (r == 0)
		r = moves_match(&pass->moves, err);
	if (r == 0)
		r = diff_choose(pass, err);
	return r < 0 ? r : merge_run(a, b, pass->to->below, diff_each, pass, err);
}

int diff_run(const struct subject *from, const struct subject *to, struct diff **ret, struct error *err)
{
	struct diff_pass pass = { .from = from, .to = to };
	int r;

	pass.diff = calloc(1, sizeof(*pass.diff));
	r = pass.diff ? diff_compare(&pass, err) : error_no_memory(err);
	moves_close(&pass.moves);
	free(pass.by_from);
	free(pass.by_to);
	if (r < 0)
		diff_free(pass.diff);
	else
		*ret = pass.diff;
	return r;
}
