/* SPDX-License-Identifier: MIT */
/* Answers READDIR and READDIRPLUS straight from the index. */
#include "serve/request/dir.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/log.h"
#include "image/names/names.h"
#include "serve/request/dirlist.h"
#include "serve/request/node.h"
#include "serve/request/reply.h"
#include "serve/serve.h"

struct dir_walk {
	struct dirlist list;
	struct generation *generation;
	uint64_t nodeid;  /* node of the directory */
	uint64_t lookups; /* entries that the kernel will know from this reply */
};

/* Adds an entry to the listing; called by names_list(). 1 ends the walk. */
static int dir_entry(void *argument, const struct names_entry *entry)
{
	struct dir_walk *walk = argument;
	uint64_t ino = generation_node(walk->generation, entry->ordinal);
	const struct span name = span_of(entry->name, entry->name_length);
	struct fuse_entry_out out;
	struct inode inode;
	struct error err = { 0 };
	int r;

	if (nodeid_is_dotdir_name(walk->nodeid, entry->name, entry->name_length)) /* hides such an entry */
		return 0;
	if (!walk->list.plus)
		return !dirlist_add(&walk->list, entry->number, ino, entry->type, name, NULL);
	r = inode_get(walk->generation->opened.index, entry->ordinal, &inode, &err);
	if (r < 0)
		return log_error(&err, "cannot list entry %llu", (unsigned long long)entry->number);
	node_entry(walk->generation, generation_node_below(walk->generation, walk->nodeid, &inode), &inode, &out);
	if (!dirlist_add(&walk->list, entry->number, ino, entry->type, name, &out))
		return 1;
	walk->lookups++;
	return 0;
}

static int dir_fill(const struct inode *directory, struct dir_walk *walk)
{
	struct generation *generation = walk->generation;
	uint64_t self = walk->nodeid & ~NODE_SIDE;
	uint64_t parent =
		directory->ordinal == INODE_ROOT ? NODE_ROOT : generation_node(generation, directory->where);
	int r;

	if (!dirlist_add_dots(&walk->list, self, parent))
		return 0;
	r = names_list(generation->opened.index->names, directory->ordinal, walk->list.first, dir_entry, walk);
	/* Answer with the entries that were added; the next request meets the error. */
	return r < 0 && !walk->list.used ? r : 0;
}

void dir_handle(struct worker *worker, struct channel_request *request)
{
	struct dir_walk walk = { 0 };
	struct error err = { 0 };
	struct inode inode;
	int r;

	r = node_find(worker, request->wire.nodeid, &walk.generation, &inode, &err);
	if (r == 0 && !S_ISDIR(inode.mode))
		r = -ENOTDIR;
	if (r == 0) {
		walk.nodeid = request->wire.nodeid;
		dirlist_begin(&walk.list, request);
		r = dir_fill(&inode, &walk);
	}
	if (r < 0) {
		reply_error(worker, request, r);
		return;
	}
	/* Count them before the reply, after which the kernel may forget them. */
	atomic_fetch_add(&walk.generation->lookups, walk.lookups);
	if (walk.nodeid & NODE_SIDE)
		generation_note(&walk.generation->visited);
	if (!reply_data(worker, request, request->payload, walk.list.used))
		generations_forget(&worker->serve->generations, walk.generation, walk.lookups);
}
