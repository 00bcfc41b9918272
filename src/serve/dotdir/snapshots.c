/* SPDX-License-Identifier: MIT */
/* Keeps texts in a table, with a limit for each user. A node's slot is its number modulo the size of the table. */
#include "serve/dotdir/snapshots.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "datasetfs/control.h"
#include "serve/dotdir/texts.h"
#include "serve/request/reply.h"
#include "serve/version/nodeid.h"

/* A node's number is NODE_SNAPSHOT + ((count % SNAPSHOTS_COUNTS) * SNAPSHOTS_KINDS + file) * SNAPSHOTS_MAX + slot. The
 * kernel keeps it while servers of several releases follow each other, so none of these may ever change. */
#define SNAPSHOTS_KINDS  8u
#define SNAPSHOTS_COUNTS (UINT64_C(1) << 26) /* after so many a number comes again */

static_assert(NODE_SNAPSHOT % SNAPSHOTS_MAX == 0, "a number modulo the size of the table is its slot");
static_assert(SNAPSHOTS_FILES <= SNAPSHOTS_KINDS, "a number has room for every file");
static_assert(NODE_SNAPSHOT + SNAPSHOTS_COUNTS * SNAPSHOTS_KINDS * SNAPSHOTS_MAX < UINT64_C(1) << DSFS_ORDINAL_BITS,
	      "all numbers have sequence 0");

struct snapshot {
	uint64_t nodeid;
	uint64_t lookups; /* protected by the table's lock; not counted for NODE_CLIENT */
	bool is_inherited; /* the kernel may not know it any more */
	uint32_t uid;     /* user who looked it up */
	_Atomic unsigned users; /* the table, and callers of snapshots_get() and snapshots_adopt() */
	struct timespec when;
	char *text;
	size_t length;
};

struct snapshots {
	_Atomic uint64_t *made;
	_Atomic uint64_t *nodes; /* by slot; changes under the lock */
	int texts;               /* for a successor; -1: none */
	_Atomic uint64_t own_made, own_nodes[SNAPSHOTS_MAX]; /* targets of these pointers if the caller has none */
	pthread_mutex_t lock;    /* protects all fields below */
	struct snapshot *client;   /* NULL: not looked up yet */
	struct snapshot *slots[SNAPSHOTS_MAX];
};

void snapshots_free(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	snapshots_put(snapshots->client);
	for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
		snapshots_put(snapshots->slots[i]);
	pthread_mutex_destroy(&snapshots->lock);
	close_fd(&snapshots->texts);
	free(snapshots);
}

enum snapshots_file snapshots_file(uint64_t nodeid)
{
	uint64_t file;

	if (nodeid == NODE_CLIENT)
		return SNAPSHOTS_CLIENT;
	if (nodeid < NODE_SNAPSHOT)
		return SNAPSHOTS_FILES;
	file = (nodeid - NODE_SNAPSHOT) / SNAPSHOTS_MAX % SNAPSHOTS_KINDS;
	return file < SNAPSHOTS_FILES && file != SNAPSHOTS_CLIENT ? (enum snapshots_file)file : SNAPSHOTS_FILES;
}

/* The place of a node in the table. NULL: the number is no snapshot's. */
static struct snapshot **snapshots_place(struct snapshots *snapshots, uint64_t nodeid)
{
	if (nodeid == NODE_CLIENT)
		return &snapshots->client;
	return nodeid < NODE_SNAPSHOT ? NULL : &snapshots->slots[nodeid % SNAPSHOTS_MAX];
}

/* Finds a snapshot, or returns NULL. The caller holds the lock. */
static struct snapshot *snapshots_find(struct snapshots *snapshots, uint64_t nodeid)
{
	struct snapshot **place = snapshots_place(snapshots, nodeid);

	return place && *place && (*place)->nodeid == nodeid ? *place : NULL;
}

void snapshots_attr(const struct snapshot *snapshot, struct fuse_attr *ret)
{
	uint64_t seconds = (uint64_t)snapshot->when.tv_sec;
	uint32_t nanoseconds = (uint32_t)snapshot->when.tv_nsec;

	*ret = (struct fuse_attr){
		.ino = snapshot->nodeid,
		.size = snapshot->length,
		.mtime = seconds,
		.ctime = seconds,
		.atime = seconds,
		.mtimensec = nanoseconds,
		.ctimensec = nanoseconds,
		.atimensec = nanoseconds,
		.mode = S_IFREG | 0444,
		.nlink = 1,
		.blksize = DSFS_BLOCK,
	};
}

/* Checks that the user may have one more snapshot. The caller holds the lock. */
static int snapshots_check(const struct snapshots *snapshots, uint32_t uid, bool may_switch)
{
	unsigned own = 0, all = 0;

	for (size_t i = 0; i < SNAPSHOTS_MAX; i++) {
		all += snapshots->slots[i] != NULL;
		own += snapshots->slots[i] && snapshots->slots[i]->uid == uid;
	}
	if (!may_switch && own >= SNAPSHOTS_OF_USER)
		return -EDQUOT;
	return all >= (may_switch ? SNAPSHOTS_MAX : SNAPSHOTS_OF_USERS) ? -ENFILE : 0;
}

/* Makes a snapshot that the table has. Takes the text unless it returns NULL. */
static struct snapshot *snapshots_make(uint64_t nodeid, uint32_t uid, char *text, size_t length)
{
	struct snapshot *snapshot = malloc(sizeof(*snapshot));

	if (!snapshot)
		return NULL;
	*snapshot = (struct snapshot){ .nodeid = nodeid, .lookups = 1, .uid = uid, .users = 1, .text = text,
				       .length = length };
	clock_gettime(CLOCK_REALTIME, &snapshot->when);
	return snapshot;
}

/* Takes what an earlier server has left in a slot. */
static void snapshots_inherit(struct snapshots *snapshots, unsigned slot)
{
	uint64_t nodeid = atomic_load(&snapshots->nodes[slot]);
	struct texts_entry left;

	if (!nodeid || !texts_get(snapshots->texts, slot, nodeid, &left))
		return;
	snapshots->slots[slot] = snapshots_make(nodeid, left.uid, left.text, left.length);
	if (!snapshots->slots[slot]) {
		free(left.text);
		return;
	}
	snapshots->slots[slot]->when = left.when;
	snapshots->slots[slot]->is_inherited = true;
}

int snapshots_new(const struct snapshots_setup *setup, struct snapshots **ret, struct error *err)
{
	struct snapshots *snapshots = calloc(1, sizeof(*snapshots));

	if (!snapshots)
		return error_no_memory(err);
	snapshots->made = setup->made ? setup->made : &snapshots->own_made;
	snapshots->nodes = setup->nodes ? setup->nodes : snapshots->own_nodes;
	snapshots->texts = setup->texts;
	pthread_mutex_init(&snapshots->lock, NULL);
	for (unsigned i = 0; i < SNAPSHOTS_MAX; i++)
		snapshots_inherit(snapshots, i);
	*ret = snapshots;
	return 0;
}

/* A free slot, if there is one that no file of an earlier server has; the kernel may ask for that. The caller holds the
 * lock and knows that a slot is free. */
static uint64_t snapshots_slot(const struct snapshots *snapshots)
{
	uint64_t slot = 0;

	while (slot < SNAPSHOTS_MAX && (snapshots->slots[slot] || atomic_load(&snapshots->nodes[slot])))
		slot++;
	if (slot < SNAPSHOTS_MAX)
		return slot;
	for (slot = 0; snapshots->slots[slot];)
		slot++;
	return slot;
}

/* The number of the next snapshot. The caller holds the lock and knows that a slot is free. */
static uint64_t snapshots_number(struct snapshots *snapshots, enum snapshots_file file)
{
	uint64_t count = atomic_fetch_add(snapshots->made, 1) % SNAPSHOTS_COUNTS;

	return NODE_SNAPSHOT + (count * SNAPSHOTS_KINDS + file) * SNAPSHOTS_MAX + snapshots_slot(snapshots);
}

/* Puts a snapshot into its place in the table. The caller holds the lock. */
static void snapshots_put_in(struct snapshots *snapshots, struct snapshot *snapshot)
{
	const struct texts_entry entry = { .nodeid = snapshot->nodeid, .when = snapshot->when, .uid = snapshot->uid,
					   .text = snapshot->text, .length = snapshot->length };
	unsigned slot = snapshot->nodeid % SNAPSHOTS_MAX;

	*snapshots_place(snapshots, snapshot->nodeid) = snapshot;
	if (snapshot->nodeid == NODE_CLIENT)
		return;
	texts_put(snapshots->texts, slot, &entry);
	atomic_store(&snapshots->nodes[slot], snapshot->nodeid);
}

/* Finds a snapshot of this file with this text, which many programs that ask at a time can have. NULL: there is none.
 * The caller holds the lock. */
static struct snapshot *snapshots_same(const struct snapshots *snapshots, enum snapshots_file file, const char *text,
				       size_t length)
{
	struct snapshot *snapshot;

	for (size_t i = 0; i < SNAPSHOTS_MAX; i++) {
		snapshot = snapshots->slots[i];
		if (snapshot && !snapshot->is_inherited && snapshots_file(snapshot->nodeid) == file &&
		    snapshot->length == length && !memcmp(snapshot->text, text, length))
			return snapshot;
	}
	return NULL;
}

static void snapshots_entry(const struct snapshot *snapshot, struct fuse_entry_out *ret)
{
	*ret = (struct fuse_entry_out){ .nodeid = snapshot->nodeid, .attr_valid = REPLY_FOREVER };
	snapshots_attr(snapshot, &ret->attr);
}

/* Adds a lookup to the snapshot that has this text already. */
static bool snapshots_share(struct snapshots *snapshots, enum snapshots_file file, const char *text, size_t length,
			    struct fuse_entry_out *ret)
{
	struct snapshot *same;

	pthread_mutex_lock(&snapshots->lock);
	same = snapshots_same(snapshots, file, text, length);
	if (same) {
		same->lookups++;
		snapshots_entry(same, ret);
	}
	pthread_mutex_unlock(&snapshots->lock);
	return same;
}

int snapshots_keep(struct snapshots *snapshots, enum snapshots_file file, uint32_t uid, bool may_switch, char *text,
		   size_t length, struct fuse_entry_out *ret)
{
	struct snapshot *snapshot;
	int r;

	if (snapshots_share(snapshots, file, text, length, ret)) {
		free(text);
		return 0;
	}
	snapshot = snapshots_make(0, uid, text, length);
	if (!snapshot)
		return -ENOMEM;
	pthread_mutex_lock(&snapshots->lock);
	r = snapshots_check(snapshots, uid, may_switch);
	if (r == 0) {
		snapshot->nodeid = snapshots_number(snapshots, file);
		snapshots_put_in(snapshots, snapshot);
		snapshots_entry(snapshot, ret);
	}
	pthread_mutex_unlock(&snapshots->lock);
	if (r < 0)
		free(snapshot);
	return r;
}

int snapshots_keep_client(struct snapshots *snapshots, char *text, size_t length, struct fuse_entry_out *ret)
{
	struct snapshot *client;
	bool kept;

	client = snapshots_adopt(snapshots, NODE_CLIENT, 0, text, length, &kept);
	if (!client)
		return -ENOMEM;
	*ret = (struct fuse_entry_out){ .nodeid = NODE_CLIENT, .entry_valid = REPLY_FOREVER,
					.attr_valid = REPLY_FOREVER };
	snapshots_attr(client, &ret->attr);
	snapshots_put(client);
	return 0;
}

/* Whether the snapshot may take its place in the table. The caller holds the lock. */
static bool snapshots_has_room(const struct snapshots *snapshots, const struct snapshot *snapshot)
{
	if (snapshot->nodeid == NODE_CLIENT)
		return true;
	return !snapshots->slots[snapshot->nodeid % SNAPSHOTS_MAX] &&
	       snapshots_check(snapshots, snapshot->uid, false) == 0;
}

struct snapshot *snapshots_adopt(struct snapshots *snapshots, uint64_t nodeid, uint32_t uid, char *text,
				 size_t length, bool *ret_kept)
{
	struct snapshot *made = snapshots_make(nodeid, uid, text, length), *there;

	*ret_kept = false;
	if (!made) {
		free(text);
		return NULL;
	}
	pthread_mutex_lock(&snapshots->lock);
	there = snapshots_find(snapshots, nodeid);
	if (there) {
		atomic_fetch_add(&there->users, 1);
	} else if (snapshots_has_room(snapshots, made)) {
		snapshots_put_in(snapshots, made);
		atomic_fetch_add(&made->users, 1);
		*ret_kept = true;
	}
	pthread_mutex_unlock(&snapshots->lock);
	if (!there)
		return made;
	snapshots_put(made);
	return there;
}

struct snapshot *snapshots_get(struct snapshots *snapshots, uint64_t nodeid)
{
	struct snapshot *snapshot;

	pthread_mutex_lock(&snapshots->lock);
	snapshot = snapshots_find(snapshots, nodeid);
	if (snapshot)
		atomic_fetch_add(&snapshot->users, 1);
	pthread_mutex_unlock(&snapshots->lock);
	return snapshot;
}

void snapshots_put(struct snapshot *snapshot)
{
	if (!snapshot || atomic_fetch_sub(&snapshot->users, 1) > 1)
		return;
	free(snapshot->text);
	free(snapshot);
}

size_t snapshots_read(const struct snapshot *snapshot, uint64_t offset, void *buffer, size_t size)
{
	if (offset >= snapshot->length)
		return 0;
	size = size < snapshot->length - offset ? size : snapshot->length - offset;
	memcpy(buffer, snapshot->text + offset, size);
	return size;
}

size_t snapshots_length(const struct snapshot *snapshot)
{
	return snapshot->length;
}

/* Notes that the kernel does not know the node any more. */
static void snapshots_unmark(struct snapshots *snapshots, uint64_t nodeid)
{
	atomic_compare_exchange_strong(&snapshots->nodes[nodeid % SNAPSHOTS_MAX], &nodeid, 0);
}

void snapshots_forget(struct snapshots *snapshots, uint64_t nodeid, uint64_t lookups)
{
	struct snapshot *snapshot;

	if (nodeid < NODE_SNAPSHOT)
		return;
	pthread_mutex_lock(&snapshots->lock);
	snapshot = snapshots_find(snapshots, nodeid);
	if (snapshot)
		snapshot->lookups -= lookups < snapshot->lookups ? lookups : snapshot->lookups;
	if (!snapshot || !snapshot->lookups)
		snapshots_unmark(snapshots, nodeid);
	if (snapshot && !snapshot->lookups) {
		*snapshots_place(snapshots, nodeid) = NULL;
		texts_drop(snapshots->texts, nodeid % SNAPSHOTS_MAX);
		snapshots_put(snapshot);
	}
	pthread_mutex_unlock(&snapshots->lock);
}
