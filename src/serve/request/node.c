/* SPDX-License-Identifier: MIT */
/* Maps node numbers to inodes, and inodes to struct fuse_attr. */
#include "serve/request/node.h"

#include <errno.h>
#include <sys/stat.h>

#include "fuse/init.h"
#include "image/extent.h"
#include "serve/request/reply.h"
#include "serve/serve.h"

int node_find(const struct worker *worker, uint64_t nodeid, struct generation **ret_generation,
	      struct inode *ret, struct error *err)
{
	struct generation *generation = generations_by_node(&worker->serve->generations, nodeid);
	int r;

	if (!generation)
		return error_set(err, -ESTALE, "node %llx belongs to no open version",
				 (unsigned long long)nodeid);
	r = inode_get(generation->opened.index, nodeid_ordinal(nodeid), ret, err);
	if (r < 0)
		return r;
	*ret_generation = generation;
	return 0;
}

void node_attr(const struct generation *generation, uint64_t nodeid, const struct inode *inode,
	       struct fuse_attr *ret)
{
	*ret = (struct fuse_attr){
		.ino = nodeid & ~NODE_SIDE,
		.size = inode->size,
		.blocks = S_ISREG(inode->mode) ? extent_blocks(generation->opened.index, inode) : 0,
		.atime = (uint64_t)inode->mtime,
		.mtime = (uint64_t)inode->mtime,
		.ctime = (uint64_t)inode->mtime,
		.atimensec = inode->mtime_nsec,
		.mtimensec = inode->mtime_nsec,
		.ctimensec = inode->mtime_nsec,
		.mode = inode->mode & ~generation->opened.hidden_mode,
		.nlink = inode->nlink,
		.uid = inode->uid,
		.gid = inode->gid,
		.blksize = inode_io_size(inode, INIT_READ_MAX),
	};
}

void node_entry(const struct generation *generation, uint64_t nodeid, const struct inode *inode,
	        struct fuse_entry_out *ret)
{
	*ret = (struct fuse_entry_out){
		.nodeid = nodeid,
		.entry_valid = REPLY_FOREVER,
		.attr_valid = REPLY_FOREVER,
	};
	node_attr(generation, nodeid, inode, &ret->attr);
}
