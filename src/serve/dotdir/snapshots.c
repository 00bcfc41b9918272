/* SPDX-License-Identifier: MIT */
/* Keeps texts in a table, with a limit for each user. A node's slot is its number modulo the size of the table. */
#include "serve/dotdir/snapshots.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "datasetfs/control.h"
#include "serve/request/reply.h"
#include "serve/version/nodeid.h"

#define SNAPSHOTS_MAX 1024u /* limit of snapshots, each of which holds its text in memory */

struct snapshot {
	uint64_t nodeid; /* NODE_SNAPSHOT + count * SNAPSHOTS_MAX + slot; 0: free */
	uint64_t lookups;
	uint32_t uid; /* user who looked it up */
	struct timespec when;
	char *text;
	size_t length;
};

struct snapshots {
	pthread_mutex_t lock; /* protects all fields below */
	struct snapshot client; /* nodeid 0: not looked up yet */
	uint64_t made;
	struct snapshot slots[SNAPSHOTS_MAX];
};

int snapshots_new(struct snapshots **ret, struct error *err)
{
	struct snapshots *snapshots = calloc(1, sizeof(*snapshots));

	if (!snapshots)
		return error_no_memory(err);
	pthread_mutex_init(&snapshots->lock, NULL);
	*ret = snapshots;
	return 0;
}

void snapshots_free(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	free(snapshots->client.text);
	for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
		free(snapshots->slots[i].text);
	pthread_mutex_destroy(&snapshots->lock);
	free(snapshots);
}

/* Finds a snapshot, or returns NULL. The caller holds the lock. */
static struct snapshot *snapshots_find(struct snapshots *snapshots, uint64_t nodeid)
{
	struct snapshot *snapshot;

	if (nodeid < NODE_SNAPSHOT && nodeid != NODE_CLIENT)
		return NULL;
	snapshot = nodeid == NODE_CLIENT ? &snapshots->client : &snapshots->slots[nodeid % SNAPSHOTS_MAX];
	return snapshot->nodeid == nodeid ? snapshot : NULL;
}

static void snapshots_attr(const struct snapshot *snapshot, struct fuse_attr *attr)
{
	uint64_t seconds = (uint64_t)snapshot->when.tv_sec;
	uint32_t nanoseconds = (uint32_t)snapshot->when.tv_nsec;

	*attr = (struct fuse_attr){
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

/* Finds a free slot, if the user may have one more snapshot. The caller holds the lock. */
static int snapshots_find_free(struct snapshots *snapshots, uint32_t uid, bool may_switch, struct snapshot **ret)
{
	struct snapshot *snapshot, *free = NULL;
	unsigned own = 0, all = 0;

	for (size_t i = 0; i < SNAPSHOTS_MAX; i++) {
		snapshot = &snapshots->slots[i];
		all += snapshot->nodeid != 0;
		own += snapshot->nodeid && snapshot->uid == uid;
		if (!snapshot->nodeid && !free)
			free = snapshot;
	}
	if (!may_switch && own >= SNAPSHOTS_OF_USER)
		return -EDQUOT;
	if (!free || (!may_switch && all >= SNAPSHOTS_OF_USERS))
		return -ENFILE;
	*ret = free;
	return 0;
}

static void snapshots_fill(struct snapshot *snapshot, uint64_t nodeid, char *text, size_t length)
{
	*snapshot = (struct snapshot){ .nodeid = nodeid, .lookups = 1, .text = text, .length = length };
	clock_gettime(CLOCK_REALTIME, &snapshot->when);
}

int snapshots_keep(struct snapshots *snapshots, uint32_t uid, bool may_switch, char *text, size_t length,
		   struct fuse_entry_out *ret)
{
	struct snapshot *snapshot;
	int r;

	pthread_mutex_lock(&snapshots->lock);
	r = snapshots_find_free(snapshots, uid, may_switch, &snapshot);
	if (r == 0) {
		snapshots_fill(snapshot,
			       NODE_SNAPSHOT + snapshots->made++ * SNAPSHOTS_MAX +
				       (uint64_t)(snapshot - snapshots->slots),
			       text, length);
		snapshot->uid = uid;
		*ret = (struct fuse_entry_out){ .nodeid = snapshot->nodeid, .attr_valid = REPLY_FOREVER };
		snapshots_attr(snapshot, &ret->attr);
	}
	pthread_mutex_unlock(&snapshots->lock);
	return r;
}

/* The snapshot has one lookup more than the kernel knows of, so it is never freed. */
void snapshots_keep_client(struct snapshots *snapshots, char *text, size_t length, struct fuse_entry_out *ret)
{
	struct snapshot *client = &snapshots->client;

	pthread_mutex_lock(&snapshots->lock);
	if (client->nodeid)
		free(text);
	else
		snapshots_fill(client, NODE_CLIENT, text, length);
	client->lookups++;
	*ret = (struct fuse_entry_out){ .nodeid = NODE_CLIENT, .entry_valid = REPLY_FOREVER,
					.attr_valid = REPLY_FOREVER };
	snapshots_attr(client, &ret->attr);
	pthread_mutex_unlock(&snapshots->lock);
}

int snapshots_getattr(struct snapshots *snapshots, uint64_t nodeid, struct fuse_attr *ret)
{
	const struct snapshot *snapshot;

	pthread_mutex_lock(&snapshots->lock);
	snapshot = snapshots_find(snapshots, nodeid);
	if (snapshot)
		snapshots_attr(snapshot, ret);
	pthread_mutex_unlock(&snapshots->lock);
	return snapshot ? 0 : -ESTALE;
}

int snapshots_read(struct snapshots *snapshots, uint64_t nodeid, uint64_t offset, void *buffer, size_t *size)
{
	const struct snapshot *snapshot;

	pthread_mutex_lock(&snapshots->lock);
	snapshot = snapshots_find(snapshots, nodeid);
	if (!snapshot || offset >= snapshot->length) {
		*size = 0;
	} else {
		*size = *size < snapshot->length - offset ? *size : snapshot->length - offset;
		memcpy(buffer, snapshot->text + offset, *size);
	}
	pthread_mutex_unlock(&snapshots->lock);
	return snapshot ? 0 : -ESTALE;
}

int snapshots_length(struct snapshots *snapshots, uint64_t nodeid, uint64_t *ret)
{
	const struct snapshot *snapshot;

	pthread_mutex_lock(&snapshots->lock);
	snapshot = snapshots_find(snapshots, nodeid);
	if (snapshot)
		*ret = snapshot->length;
	pthread_mutex_unlock(&snapshots->lock);
	return snapshot ? 0 : -ESTALE;
}

void snapshots_forget(struct snapshots *snapshots, uint64_t nodeid, uint64_t lookups)
{
	struct snapshot *snapshot;

	pthread_mutex_lock(&snapshots->lock);
	snapshot = snapshots_find(snapshots, nodeid);
	if (snapshot) {
		snapshot->lookups -= lookups < snapshot->lookups ? lookups : snapshot->lookups;
		if (!snapshot->lookups) {
			free(snapshot->text);
			*snapshot = (struct snapshot){ 0 };
		}
	}
	pthread_mutex_unlock(&snapshots->lock);
}
