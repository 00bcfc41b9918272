/* SPDX-License-Identifier: MIT */
/* Finds the version and inode of a node number, and makes the attributes and entries that the kernel gets. */
#pragma once
#include "fuse/wire.h"
#include "serve/worker/worker.h"

/* Finds the version and inode of a node. Call it in a section, during which the version stays open. -ESTALE: no open
 * version has the node. */
must_check int node_find(const struct worker *worker, uint64_t nodeid, struct generation **ret_generation,
			 struct inode *ret, struct error *err);
/* Makes a node's attributes, without the mode bits that the mount hides. */
void node_attr(const struct generation *generation, uint64_t nodeid, const struct inode *inode,
	       struct fuse_attr *ret);
/* Makes the entry with which LOOKUP is answered and which READDIRPLUS embeds. */
void node_entry(const struct generation *generation, uint64_t nodeid, const struct inode *inode,
	        struct fuse_entry_out *ret);
