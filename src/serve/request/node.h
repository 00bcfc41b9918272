/* SPDX-License-Identifier: MIT */
/* From a node number to its version and inode, and to what the kernel is told of it: attributes, entry headers. */
#pragma once
#include "fuse/wire.h"
#include "serve/worker/worker.h"

/* The node's version and inode. -ESTALE when its version is not open. */
must_check int node_find(const struct worker *worker, uint64_t nodeid, struct generation **ret_generation,
			 struct inode *ret, struct error *err);
void node_attr(const struct generation *generation, uint64_t nodeid, const struct inode *inode,
	       struct fuse_attr *ret);
/* What LOOKUP answers and READDIRPLUS embeds. */
void node_entry(const struct generation *generation, uint64_t nodeid, const struct inode *inode,
	        struct fuse_entry_out *ret);
