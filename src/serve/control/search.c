/* SPDX-License-Identifier: MIT */
/* Asks for every node of the version. Nodes that the kernel does not know yet, as their reply is on its way, are
 * counted: the count is taken first, then the search waits for the replies that it contains, and closing the version
 * compares it again. */
#include "serve/control/search.h"

#include <sys/stat.h>

#include "fuse/known.h"
#include "image/inode.h"

/* True if the kernel knows the node, or does not say. */
static bool search_node(const struct serve *serve, uint64_t node)
{
	return node != NODE_ROOT && known_node(serve->mount_fd, node) != 0;
}

/* True if the kernel knows a node of the inode. A directory has two. The mount's root is no version's own. */
static bool search_inode(const struct serve *serve, const struct generation *generation, uint64_t ordinal)
{
	uint64_t side = NODE_SIDE | generation->sequence << DSFS_ORDINAL_BITS | ordinal;
	struct inode inode;

	if (search_node(serve, generation_node(generation, ordinal)))
		return true;
	if (inode_get(generation->opened.index, ordinal, &inode, NULL) == 0 && !S_ISDIR(inode.mode))
		return false;
	return search_node(serve, side);
}

/* True if all inodes were asked for, and the kernel knows none. */
static bool search_all(const struct serve *serve, struct generation *generation, const _Atomic bool *is_cancelled)
{
	if (generation->known && search_inode(serve, generation, generation->known))
		return false;
	for (uint64_t ordinal = INODE_ROOT; ordinal <= generation->opened.index->shape.inode_count; ordinal++) {
		if (atomic_load(is_cancelled))
			return false;
		if (search_inode(serve, generation, ordinal)) {
			generation->known = ordinal;
			return false;
		}
	}
	return true;
}

void search_version(struct serve *serve, struct generation *generation, const _Atomic bool *is_cancelled)
{
	uint64_t lookups = atomic_load(&generation->lookups);

	if (atomic_load(&generation->pins) || !generations_wait_unless(&serve->generations, is_cancelled))
		return;
	if (search_all(serve, generation, is_cancelled))
		atomic_store(&generation->searched, lookups);
}
