/* SPDX-License-Identifier: MIT */
/* Keeps listed names in sorted runs of consecutive ids in one directory, and looked-up paths and directories in a hash
 * table by id. */
#include "lib/mounted/mounted_names.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/span.h"
#include "lib/forked.h"

/* A directory, or a path that was looked up. A parent is older than its children, so there is no circle. */
struct names_node {
	struct hash_link link; /* must be the first field */
	uint64_t id;
	const struct names_node *parent; /* NULL: the root */
	bool is_plain; /* no symbolic link between the parent and here */
	char name[];   /* its name in the parent, or a path from there */
};

struct names_run {
	uint64_t first;
	uint32_t count;
	const struct names_node *folder;
	const char *names; /* of all entries, stored behind at */
	uint32_t at[];     /* count + 1 offsets: each name's beginning, and the end of the last */
};

struct names_runs {
	struct names_run **items; /* by id, without overlap */
	size_t count, room;
};

/* A directory of the sweep. */
struct names_swept {
	const struct names_node *node;
	uint64_t first, count; /* range of ids whose first name is in it */
	bool is_listed;
};

struct mounted_names {
	struct names_runs listed, swept; /* swept has first names only */
	struct hash_table nodes;         /* all but the root, by id; of several with one id the newest counts */
	size_t node_count;
	struct names_swept *sweep;    /* directories by id; from sweep_at on they are still to be listed */
	size_t sweep_at, sweep_count, sweep_room;
	uint64_t sweep_id; /* id of the next first name */
	bool has_gaps;     /* some directories may not be listed, or lie outside of the root */
	struct names_node root;
};

/* --- memory --- */

int mounted_names_new(uint64_t root, bool has_gaps, struct mounted_names **ret, struct error *err)
{
	struct mounted_names *names = calloc(1, sizeof(*names) + 1); /* the root's name is empty */

	if (!names)
		return error_no_memory(err);
	if (grow(names->sweep, names->sweep_room, 1, err) < 0) {
		free(names);
		return -ENOMEM;
	}
	names->root = (struct names_node){ .id = root, .is_plain = true };
	names->sweep[names->sweep_count++] = (struct names_swept){ .node = &names->root };
	names->sweep_id = root + 1;
	names->has_gaps = has_gaps;
	*ret = names;
	return 0;
}

static void mounted_names_free_runs(struct names_runs *runs, size_t from)
{
	for (size_t i = from; i < runs->count; i++)
		free(runs->items[i]);
	runs->count = from;
}

void mounted_names_free(struct mounted_names *names)
{
	struct hash_link *link, *next;

	if (!names)
		return;
	for (size_t i = 0; i < names->nodes.room; i++)
		for (link = names->nodes.chains[i]; link; link = next) {
			next = link->next;
			free(link);
		}
	mounted_names_free_runs(&names->listed, 0);
	mounted_names_free_runs(&names->swept, 0);
	free(names->listed.items);
	free(names->swept.items);
	hash_free(&names->nodes);
	free(names->sweep);
	free(names);
}

/* --- nodes --- */

static uint64_t mounted_names_hash(uint64_t id)
{
	return hash_spread(id) >> 20;
}

static uint64_t mounted_names_hash_of(const struct hash_link *link)
{
	return mounted_names_hash(((const struct names_node *)link)->id);
}

static struct names_node *mounted_names_node(const struct mounted_names *names, uint64_t id)
{
	struct hash_link *link = hash_first(&names->nodes, mounted_names_hash(id));

	while (link && ((const struct names_node *)link)->id != id)
		link = link->next;
	return (struct names_node *)link;
}

/* Makes a node of this name, which from now on is found instead of a former one that was less plain. head: its id,
 * parent and is_plain. */
static int mounted_names_make(struct mounted_names *names, const struct names_node *head, struct span name,
			      struct names_node **ret, struct error *err)
{
	struct names_node *node;

	if (hash_reserve(&names->nodes, names->node_count + 1, mounted_names_hash_of, err) < 0)
		return -ENOMEM;
	node = malloc(sizeof(*node) + name.size + 1);
	if (!node)
		return error_no_memory(err);
	*node = *head;
	memcpy(node->name, name.base, name.size);
	node->name[name.size] = 0;
	hash_add(&names->nodes, mounted_names_hash(node->id), &node->link);
	names->node_count++;
	*ret = node;
	return 0;
}

static bool mounted_names_node_is_plain(const struct names_node *node)
{
	while (node && node->is_plain)
		node = node->parent;
	return !node;
}

/* --- runs --- */

/* Returns the index of the run that has this id, or would have it. */
static size_t mounted_names_search(const struct names_runs *runs, uint64_t id)
{
	size_t low = 0, high = runs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct names_run *run = runs->items[middle];

		if (run->first + run->count <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct names_run *mounted_names_run(const struct names_runs *runs, uint64_t id)
{
	size_t at = mounted_names_search(runs, id);

	return at < runs->count && runs->items[at]->first <= id ? runs->items[at] : NULL;
}

static const struct names_run *mounted_names_known_run(const struct mounted_names *names, uint64_t id)
{
	const struct names_run *run = mounted_names_run(&names->swept, id);

	return run ? run : mounted_names_run(&names->listed, id);
}

static const char *mounted_names_in_run(const struct names_run *run, uint64_t id, size_t *ret_length)
{
	const uint32_t *at = &run->at[id - run->first];

	*ret_length = at[1] - at[0];
	return run->names + at[0];
}

/* Makes a run of entries with consecutive ids. */
static struct names_run *mounted_names_copy(const struct mounted_batch *batch, size_t from, size_t to,
					    const struct names_node *folder)
{
	size_t count = to - from, bytes = 0, head = sizeof(struct names_run) + (count + 1) * sizeof(uint32_t);
	struct names_run *run;
	char *names;

	for (size_t i = from; i < to; i++)
		bytes += batch->entries[i].length;
	run = bytes <= UINT32_MAX && count < UINT32_MAX ? malloc(head + bytes) : NULL;
	if (!run)
		return NULL;
	*run = (struct names_run){ .first = batch->entries[from].id, .count = (uint32_t)count, .folder = folder };
	run->names = names = (char *)run + head;
	bytes = 0;
	for (size_t i = from; i < to; i++) {
		run->at[i - from] = (uint32_t)bytes;
		memcpy(names + bytes, batch->names + batch->entries[i].at, batch->entries[i].length);
		bytes += batch->entries[i].length;
	}
	run->at[count] = (uint32_t)bytes;
	return run;
}

static int mounted_names_insert(struct names_runs *runs, const struct mounted_batch *batch, size_t from, size_t to,
				const struct names_node *folder, struct error *err)
{
	struct names_run *run;
	size_t at;
	int r = grow(runs->items, runs->room, runs->count + 1, err);

	if (r < 0)
		return r;
	run = mounted_names_copy(batch, from, to, folder);
	if (!run)
		return error_no_memory(err);
	at = mounted_names_search(runs, run->first);
	memmove(&runs->items[at + 1], &runs->items[at], (runs->count - at) * sizeof(struct names_run *));
	runs->items[at] = run;
	runs->count++;
	return 0;
}

/* --- paths --- */

/* Builds a path from its last name to its first; it fills the memory from the end. */
static char *mounted_names_join(const struct names_node *folder, const char *name, size_t length)
{
	size_t size = length + 1;
	char *path, *at;

	for (const struct names_node *node = folder; node && node->parent; node = node->parent)
		size += strlen(node->name) + 1;
	path = malloc(size);
	if (!path)
		return NULL;
	at = path + size - 1;
	*at = 0;
	at -= length;
	memcpy(at, name, length);
	for (const struct names_node *node = folder; node && node->parent; node = node->parent) {
		*--at = '/';
		at -= strlen(node->name);
		memcpy(at, node->name, strlen(node->name));
	}
	assert(at == path);
	return path;
}

static char *mounted_names_of(const struct names_node *node)
{
	return node->parent ? mounted_names_join(node->parent, node->name, strlen(node->name)) : strdup(".");
}

static int mounted_names_find(const struct mounted_names *names, uint64_t id, char **ret, enum mounted_kind *ret_kind)
{
	const struct names_run *run = mounted_names_known_run(names, id);
	const struct names_node *node = mounted_names_node(names, id);
	size_t length;
	const char *name;

	if (id == names->root.id) {
		*ret = mounted_names_of(&names->root);
		*ret_kind = MOUNTED_FIRST;
	} else if (run && (!node || mounted_names_node_is_plain(run->folder))) {
		name = mounted_names_in_run(run, id, &length);
		*ret = mounted_names_join(run->folder, name, length);
		*ret_kind = mounted_names_run(&names->swept, id) ? MOUNTED_FIRST :
			    mounted_names_node_is_plain(run->folder) ? MOUNTED_PLAIN : MOUNTED_SOME;
	} else if (node) {
		*ret = mounted_names_of(node);
		*ret_kind = mounted_names_node_is_plain(node) ? MOUNTED_PLAIN : MOUNTED_SOME;
	} else {
		return -ENOENT;
	}
	return *ret ? 0 : -ENOMEM;
}

int mounted_names_path(struct mounted_names *names, uint64_t id, char **ret, enum mounted_kind *ret_kind,
		       struct error *err)
{
	int r;

	forked_lock();
	r = mounted_names_find(names, id, ret, ret_kind);
	forked_unlock();
	return r == -ENOMEM ? error_no_memory(err) : r;
}

bool mounted_names_knows(struct mounted_names *names, uint64_t id)
{
	bool is_known;

	forked_lock();
	is_known = id == names->root.id || mounted_names_known_run(names, id) || mounted_names_node(names, id);
	forked_unlock();
	return is_known;
}

int mounted_names_note(struct mounted_names *names, uint64_t id, const char *path, bool is_plain, struct error *err)
{
	const struct names_node head = { .id = id, .parent = &names->root, .is_plain = is_plain }, *known;
	struct names_node *made;
	int r = 0;

	forked_lock();
	known = mounted_names_node(names, id);
	if (id != names->root.id && !mounted_names_known_run(names, id) && (!known || (is_plain && !known->is_plain)))
		r = mounted_names_make(names, &head, span_text(path), &made, err);
	forked_unlock();
	return r;
}

/* Finds the node of a directory, or makes it from the directory's known entry in a run. */
static int mounted_names_folder(struct mounted_names *names, uint64_t id, const struct names_node **ret,
				struct error *err)
{
	const struct names_run *run = mounted_names_known_run(names, id);
	struct names_node *node = mounted_names_node(names, id);
	struct names_node head = { .id = id, .is_plain = true };
	size_t length;
	const char *name;
	int r = 0;

	if (id == names->root.id) {
		*ret = &names->root;
		return 0;
	}
	if (!node && !run)
		return error_set(err, -ENOENT, "no path to the directory %" PRIu64 " is known", id);
	if (run && (!node || (!mounted_names_node_is_plain(node) && mounted_names_node_is_plain(run->folder)))) {
		name = mounted_names_in_run(run, id, &length);
		head.parent = run->folder;
		r = mounted_names_make(names, &head, span_of(name, length), &node, err);
	}
	if (r == 0)
		*ret = node;
	return r;
}

/* --- listings --- */

static int mounted_names_add_locked(struct mounted_names *names, uint64_t directory, const struct mounted_batch *batch,
				    struct error *err)
{
	const struct mounted_entry *entries = batch->entries;
	const struct names_node *folder = NULL;
	int r = mounted_names_folder(names, directory, &folder, err);
	size_t to;

	for (size_t from = 0; from < batch->count && r == 0; from = to) {
		to = from + 1;
		if (mounted_names_known_run(names, entries[from].id))
			continue;
		while (to < batch->count && entries[to].id == entries[from].id + (to - from) &&
		       !mounted_names_known_run(names, entries[to].id))
			to++;
		r = mounted_names_insert(&names->listed, batch, from, to, folder, err);
	}
	return r;
}

int mounted_names_add(struct mounted_names *names, uint64_t directory, const struct mounted_batch *batch,
		      struct error *err)
{
	int r;

	forked_lock();
	r = mounted_names_add_locked(names, directory, batch, err);
	forked_unlock();
	return r;
}

/* --- the sweep --- */

int mounted_names_next(struct mounted_names *names, uint64_t *ret_directory, char **ret_path, struct error *err)
{
	const struct names_node *node;
	int r = -ENOENT;

	forked_lock();
	if (names->sweep_at < names->sweep_count) {
		node = names->sweep[names->sweep_at].node;
		*ret_directory = node->id;
		*ret_path = mounted_names_of(node);
		r = *ret_path ? 0 : -ENOMEM;
	}
	forked_unlock();
	return r == -ENOMEM ? error_no_memory(err) : r;
}

static bool mounted_names_is_next(const struct mounted_names *names, uint64_t directory)
{
	return names->sweep_at < names->sweep_count && names->sweep[names->sweep_at].node->id == directory;
}

static int mounted_names_enqueue(struct mounted_names *names, const struct mounted_batch *batch, size_t entry,
				 const struct names_node *folder, struct error *err)
{
	const struct mounted_entry *found = &batch->entries[entry];
	const struct names_node head = { .id = found->id, .parent = folder, .is_plain = true };
	struct names_node *node = NULL;
	int r = grow(names->sweep, names->sweep_room, names->sweep_count + 1, err);

	if (r < 0)
		return r;
	r = mounted_names_make(names, &head, span_of(batch->names + found->at, found->length), &node, err);
	if (r == 0)
		names->sweep[names->sweep_count++] = (struct names_swept){ .node = node };
	return r;
}

/* Counts the entries, from this one on, that have the next unused ids. After a gap, ids may continue anywhere. */
static size_t mounted_names_firsts(const struct mounted_names *names, const struct mounted_batch *batch, size_t from,
				   uint64_t next)
{
	size_t to = from;

	if (names->has_gaps && batch->entries[from].id > next)
		next = batch->entries[from].id;
	while (to < batch->count && batch->entries[to].id == next + (to - from))
		to++;
	return to - from;
}

/* Enters the batch as runs and directories. *swept: gets the directory's range, the last run of ids: earlier ones have
 * their first names in a directory that was not listed. The caller undoes a partial failure. */
static int mounted_names_learn(struct mounted_names *names, const struct mounted_batch *batch,
			       struct names_swept *swept, uint64_t *next, struct error *err)
{
	size_t count;
	int r = 0;

	for (size_t i = 0; i < batch->count && r == 0; i += count ? count : 1) {
		count = mounted_names_firsts(names, batch, i, *next);
		if (!count && batch->entries[i].id > *next)
			return error_set(err, -EIO, "the mount lists the inode %" PRIu64 " in '%s' and none with the "
					 "number %" PRIu64, batch->entries[i].id, swept->node->name, *next);
		if (!count)
			continue;
		r = mounted_names_insert(&names->swept, batch, i, i + count, swept->node, err);
		for (size_t at = i; at < i + count && r == 0; at++)
			if (batch->entries[at].type == DT_DIR)
				r = mounted_names_enqueue(names, batch, at, swept->node, err);
		if (batch->entries[i].id != swept->first + swept->count) {
			swept->first = batch->entries[i].id;
			swept->count = 0;
		}
		swept->count += count;
		*next = batch->entries[i].id + count;
	}
	return r;
}

int mounted_names_sweep(struct mounted_names *names, uint64_t directory, const struct mounted_batch *batch,
			struct error *err)
{
	size_t runs, directories;
	struct names_swept swept;
	uint64_t next;
	int r = 0;

	forked_lock();
	if (mounted_names_is_next(names, directory)) {
		runs = names->swept.count;
		directories = names->sweep_count;
		next = names->sweep_id;
		swept = (struct names_swept){ .node = names->sweep[names->sweep_at].node, .first = next,
					      .is_listed = true };
		r = mounted_names_learn(names, batch, &swept, &next, err);
		if (r < 0) {
			mounted_names_free_runs(&names->swept, runs);
			names->sweep_count = directories;
		} else {
			names->sweep[names->sweep_at++] = swept;
			names->sweep_id = next;
		}
	}
	forked_unlock();
	return r;
}

void mounted_names_skip(struct mounted_names *names, uint64_t directory)
{
	forked_lock();
	if (mounted_names_is_next(names, directory)) {
		names->sweep_at++;
		names->has_gaps = true;
	}
	forked_unlock();
}

bool mounted_names_swept(struct mounted_names *names, uint64_t id)
{
	bool is_swept;

	forked_lock();
	is_swept = id < names->sweep_id || names->sweep_at == names->sweep_count;
	forked_unlock();
	return is_swept;
}

static const struct names_swept *mounted_names_find_swept(const struct mounted_names *names, uint64_t directory)
{
	size_t low = 0, high = names->sweep_at;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->sweep[middle].node->id < directory)
			low = middle + 1;
		else
			high = middle;
	}
	return low < names->sweep_at && names->sweep[low].node->id == directory ? &names->sweep[low] : NULL;
}

int mounted_names_range(struct mounted_names *names, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count)
{
	const struct names_swept *swept;
	int r = -ENOENT;

	forked_lock();
	swept = mounted_names_find_swept(names, directory);
	if (swept && swept->is_listed) {
		*ret_first = swept->first;
		*ret_count = swept->count;
		r = 0;
	}
	forked_unlock();
	return r;
}
