/* SPDX-License-Identifier: MIT */
/* Checks the rules for names, and that directories and inodes agree with them. */
#include "image/entries.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "datasetfs/control.h"
#include "image/inode.h"
#include "image/names/names_check.h"
#include "image/names/names_page.h"

struct entries {
	const struct index *index;
	uint64_t highest; /* ordinal given so far */
	uint64_t count;
	uint64_t claimed;       /* entries that directories say they have; at most the version's */
	struct inode directory; /* the one whose entries are being read; ordinal 0 before the first */
	uint64_t number;        /* of the next entry in it */
	struct span *marks;     /* names of entries n * DSFS_MARK_EVERY of the directory */
	size_t mark_count, mark_room;
};

static uint64_t key_parent(struct span key)
{
	uint64_t parent = 0;

	for (unsigned i = 0; i < DSFS_KEY_PARENT; i++)
		parent = parent << 8 | key.base[i];
	return parent;
}

static bool name_is_legal(struct span name)
{
	if (name.size == 0 || name.size > DSFS_NAME_MAX || memchr(name.base, 0, name.size) ||
	    memchr(name.base, '/', name.size))
		return false;
	return !(name.base[0] == '.' && (name.size == 1 || (name.size == 2 && name.base[1] == '.')));
}

/* A mount has its own folder of that name there, which identifies it and takes commands. */
static bool name_is_taken(uint64_t directory, struct span name)
{
	return directory == INODE_ROOT && name.size == strlen(DSFS_CONTROL_FOLDER) &&
	       !memcmp(name.base, DSFS_CONTROL_FOLDER, name.size);
}

static int end_directory(struct entries *e, struct error *err)
{
	uint64_t marks = e->number ? (e->number - 1) / DSFS_MARK_EVERY : 0;

	if (e->directory.ordinal == 0)
		return 0;
	if (e->number != e->directory.size || e->mark_count != marks)
		return error_set(err, -EBADMSG,
				 "names: directory %" PRIu64 " has %" PRIu64 " entries and %" PRIu64
				 " marks, expected %" PRIu64
				 " and %" PRIu64,
				 e->directory.ordinal, e->number, e->mark_count, e->directory.size, marks);
	return 0;
}

static int begin_directory(struct entries *e, uint64_t parent, struct error *err)
{
	int r = end_directory(e, err);

	if (r < 0)
		return r;
	if (parent == 0 || parent > e->highest)
		return error_set(err, -EBADMSG, "names: entries of directory %" PRIu64 " come before the directory",
				 parent);
	r = inode_get(e->index, parent, &e->directory, err);
	if (r < 0)
		return r;
	if (!S_ISDIR(e->directory.mode))
		return error_set(err, -EBADMSG, "names: inode %" PRIu64 " has entries but is not a directory", parent);
	e->number = 0;
	e->mark_count = 0;
	return 0;
}

static int check_mark(struct entries *e, struct span key, struct span name, struct error *err)
{
	uint64_t n = 0;
	int r;

	for (unsigned i = DSFS_KEY_PARENT + 1; i < key.size; i++)
		n = n << 8 | key.base[i];
	if (key.size != DSFS_KEY_PARENT + 5 || n != e->mark_count + 1 || e->number != 0 || !name_is_legal(name))
		return error_set(err, -EBADMSG, "names: directory %" PRIu64 " has a bad mark %" PRIu64,
				 e->directory.ordinal, n);
	r = grow(e->marks, e->mark_room, e->mark_count + 1, err);
	if (r < 0)
		return r;
	e->marks[e->mark_count++] = name;
	return 0;
}

/* Adds up the entries that directories claim. A directory without entries has no key, so only the sum shows that it
 * claims some: the directories with entries account for all there are. */
static int check_claim(struct entries *e, const struct inode *directory, struct error *err)
{
	if (directory->size > e->index->shape.entry_count - e->claimed)
		return error_set(err, -EBADMSG,
				 "names: directories up to %" PRIu64 " claim more than the %" PRIu64
				 " entries there are",
				 directory->ordinal, e->index->shape.entry_count);
	e->claimed += directory->size;
	return 0;
}

/* Checks breadth-first numbering: the next ordinal, or a hard link to an earlier inode that is no directory. */
static int check_ordinal(struct entries *e, uint64_t ordinal, uint8_t type, struct error *err)
{
	bool is_new = ordinal == e->highest + 1;
	struct inode inode;
	int r;

	if (!is_new && (ordinal == 0 || ordinal > e->highest || type == DT_DIR))
		return error_set(err, -EBADMSG, "names: ordinal %" PRIu64 " after %" PRIu64 " in directory %" PRIu64,
				 ordinal, e->highest, e->directory.ordinal);
	r = inode_get(e->index, ordinal, &inode, err);
	if (r < 0)
		return r;
	if (IFTODT(inode.mode) != type || (type == DT_DIR && inode.where != e->directory.ordinal))
		return error_set(err, -EBADMSG,
				 "names: entry of type %u in directory %" PRIu64 " does not match inode %" PRIu64
				 ", mode %#o",
				 type, e->directory.ordinal, ordinal, inode.mode);
	e->highest += is_new;
	return type == DT_DIR ? check_claim(e, &inode, err) : 0;
}

static int check_entry(struct entries *e, struct span name, struct span value, struct error *err)
{
	uint64_t ordinal = 0, mark = e->number / DSFS_MARK_EVERY;

	if (!name_is_legal(name) || value.size != sizeof(struct dsfs_entry))
		return error_set(err, -EBADMSG, "names: illegal name or value in directory %" PRIu64 ", entry %" PRIu64,
				 e->directory.ordinal, e->number);
	if (name_is_taken(e->directory.ordinal, name))
		return error_set(err, -EBADMSG,
				 "names: the root has an entry '%s', which is the name of the mount's own directory",
				 DSFS_CONTROL_FOLDER);
	if (e->number % DSFS_MARK_EVERY == 0 && mark > 0 &&
	    (mark > e->mark_count || names_page_compare(name, e->marks[mark - 1]) != 0))
		return error_set(err, -EBADMSG, "names: mark %" PRIu64 " of directory %" PRIu64 " names another entry",
				 mark, e->directory.ordinal);
	for (int i = 4; i >= 0; i--)
		ordinal = ordinal << 8 | value.base[i];
	e->number++;
	e->count++;
	return check_ordinal(e, ordinal, value.base[5], err);
}

static int check_record(void *argument, struct span key, struct span value, struct error *err)
{
	struct entries *e = argument;
	struct span rest = { key.base + DSFS_KEY_PARENT, key.size - DSFS_KEY_PARENT };
	int r;

	if (!e->directory.ordinal || key_parent(key) != e->directory.ordinal) {
		r = begin_directory(e, key_parent(key), err);
		if (r < 0)
			return r;
	}
	return rest.base[0] == 0 ? check_mark(e, key, value, err) : check_entry(e, rest, value, err);
}

static int check_root(struct entries *e, struct error *err)
{
	struct inode root;
	int r = inode_get(e->index, INODE_ROOT, &root, err);

	if (r < 0)
		return r;
	if (!S_ISDIR(root.mode) || root.where != INODE_ROOT)
		return error_set(err, -EBADMSG, "names: the root is not a directory: mode %#o", root.mode);
	e->highest = INODE_ROOT;
	return check_claim(e, &root, err);
}

static int check_all(struct entries *e, struct span file, struct error *err)
{
	int r = check_root(e, err);

	if (r == 0)
		r = names_check(file, check_record, e, err);
	if (r == 0)
		r = end_directory(e, err);
	if (r < 0)
		return r;
	if (e->count != e->index->shape.entry_count || e->highest != e->index->shape.inode_count)
		return error_set(err, -EBADMSG,
				 "names: %" PRIu64 " entries, %" PRIu64 " inodes, expected %" PRIu64 ", %" PRIu64,
				 e->count, e->highest, e->index->shape.entry_count, e->index->shape.inode_count);
	return 0;
}

int entries_check(const struct index *index, struct span file, struct error *err)
{
	struct entries e = { .index = index };
	int r = check_all(&e, file, err);

	free(e.marks);
	return r;
}
