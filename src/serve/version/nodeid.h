/* SPDX-License-Identifier: MIT */
/* Node numbers, which are also st_ino: the sequence of the version and the ordinal; the root is 1 in every version.
 * Sequence 0 is .datasetfs. A directory has only one place in the kernel's tree, so below .datasetfs/versions it is
 * another node, with the top bit set and the same st_ino. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "datasetfs/control.h"
#include "datasetfs/format.h"

#define NODE_ROOT         UINT64_C(1)
#define NODE_DOTDIR       UINT64_C(2)    /* .datasetfs */
#define NODE_CONTROL      UINT64_C(16)   /* in it: the file that takes commands, */
#define NODE_VERSIONS     UINT64_C(17)   /* the directory with every version under its label, */
#define NODE_CLIENT       UINT64_C(18)   /* the file that never changes while the mount is there, */
#define NODE_SNAPSHOT     UINT64_C(1024) /* and from here on what its other files were when somebody looked them up */
#define NODE_SIDE         (UINT64_C(1) << 63)
#define NODE_SEQUENCE_MAX ((UINT64_C(1) << (63 - DSFS_ORDINAL_BITS)) - 1)

static inline uint64_t nodeid_sequence(uint64_t nodeid)
{
	return (nodeid & ~NODE_SIDE) >> DSFS_ORDINAL_BITS;
}

static inline uint64_t nodeid_ordinal(uint64_t nodeid)
{
	return nodeid & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);
}

/* .datasetfs and what is in it. */
static inline bool nodeid_is_dotdir(uint64_t nodeid)
{
	return nodeid_sequence(nodeid) == 0 && nodeid != NODE_ROOT;
}

/* The name of .datasetfs in the root: it is ours, whatever a version has in its place. */
static inline bool nodeid_is_dotdir_name(uint64_t directory, const char *name, size_t length)
{
	return directory == NODE_ROOT && length == strlen(DSFS_CONTROL_FOLDER) && !memcmp(name, DSFS_CONTROL_FOLDER,
											  length);
}
