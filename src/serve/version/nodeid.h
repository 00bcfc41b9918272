/* SPDX-License-Identifier: MIT */
/* Node numbers, which are also st_ino: the version's sequence and the inode's ordinal; the root is 1 in every version.
 * Sequence 0 belongs to .datasetfs. The kernel allows a directory only one place in its tree, so a directory below
 * .datasetfs/versions has a node of its own: the top bit is set, st_ino is the same. The kernel keeps these numbers
 * while one server follows another, also one of a later release: none may ever mean something else. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "datasetfs/control.h"
#include "datasetfs/format.h"

#define NODE_ROOT         UINT64_C(1)
#define NODE_DOTDIR       UINT64_C(2)    /* .datasetfs */
#define NODE_CONTROL      UINT64_C(16)   /* .datasetfs/control, the file that takes commands */
#define NODE_VERSIONS     UINT64_C(17)   /* .datasetfs/versions, the directory with every version under its label */
#define NODE_CLIENT       UINT64_C(18)   /* .datasetfs/client, which does not change while the mount exists */
#define NODE_SNAPSHOT     UINT64_C(1024) /* the first snapshot of another file; one node per lookup, see snapshots.c */
#define NODE_SIDE         (UINT64_C(1) << 63)
#define NODE_SEQUENCE_MAX ((UINT64_C(1) << (63 - DSFS_ORDINAL_BITS)) - 1)

/* The sequence of the version that a node belongs to; 0: .datasetfs, or the root of the mount. */
static inline uint64_t nodeid_sequence(uint64_t nodeid)
{
	return (nodeid & ~NODE_SIDE) >> DSFS_ORDINAL_BITS;
}

/* The ordinal of a node's inode in its version. */
static inline uint64_t nodeid_ordinal(uint64_t nodeid)
{
	return nodeid & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);
}

/* Whether a number that a program names, as an st_ino or without a sequence, is one of this version. */
static inline bool nodeid_may_be_of(uint64_t number, uint64_t sequence)
{
	return !(number & NODE_SIDE) && (!nodeid_sequence(number) || nodeid_sequence(number) == sequence);
}

/* Whether a node is .datasetfs or one of its files. */
static inline bool nodeid_is_dotdir(uint64_t nodeid)
{
	return nodeid_sequence(nodeid) == 0 && nodeid != NODE_ROOT;
}

/* Whether a name in the root is .datasetfs, which hides an entry of that name in the version. */
static inline bool nodeid_is_dotdir_name(uint64_t directory, const char *name, size_t length)
{
	return directory == NODE_ROOT && length == strlen(DSFS_CONTROL_FOLDER) && !memcmp(name, DSFS_CONTROL_FOLDER,
											  length);
}
