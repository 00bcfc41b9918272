/* SPDX-License-Identifier: MIT */
/* Owns the seam between the public calls and the two backends, which have the same operations: direct.c reads index and
 * volume itself, past the mount, and mounted.c goes through the mount. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "datasetfs/datasetfs.h"
#include "datasetfs/format.h"
#include "trust/trust.h"

struct opened;
struct pending;

/* Operations on the reads of one queue, which end later. One thread at a time may call these. */
struct pending_ops {
	/* Takes all of the reads or none. */
	int (*submit)(struct pending *pending, struct dsfs_read *reads, size_t count, struct error *err);
	/* Waits as dsfs_queue_wait() does. */
	int (*wait)(struct pending *pending, size_t least, struct dsfs_read **ret, size_t most, int timeout,
		    struct error *err);
	void (*free)(struct pending *pending); /* waits for reads in flight */
};

struct pending {
	const struct pending_ops *ops;
};

/* The arguments of dsfs_open(); the handle owns them, and they never change. */
struct query {
	const char *where;
	uint32_t flags;      /* DSFS_OPEN_* */
	const char *version; /* NULL: the current one */
	const char *digest;  /* NULL: any */
	struct trust trust;  /* signers NULL: any publisher is accepted */
};

/* The operations of a backend. Ids are of the opened version: the callers in this folder have checked that. */
struct backend {
	enum dsfs_way kind;
	int (*lookup)(struct opened *opened, const char *path, uint64_t *ret_id, struct error *err);
	/* Sets each of ids to an id or a negative errno. Returns the first errno, and sets err to its reason. NULL:
	 * paths are looked up one after the other. */
	int (*lookup_many)(struct opened *opened, const char *const *paths, size_t count, int64_t *ids,
			   struct error *err);
	int (*stat)(struct opened *opened, uint64_t id, struct stat *ret, struct error *err);
	int (*readlink)(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err);
	int (*path)(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err);
	int (*list)(struct opened *opened, uint64_t directory,
		    int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument, struct error *err);
	/* Visits a directory before its entries. Does not recurse, as the packer decides how deep the tree is. */
	int (*walk)(struct opened *opened, uint64_t directory,
		    int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument, struct error *err);
	int (*range)(struct opened *opened, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count,
		     struct error *err);
	int (*versions)(struct opened *opened, int (*each)(void *argument, const struct dsfs_version_info *version),
			void *argument, struct error *err);
	int (*read_many)(struct opened *opened, struct dsfs_read *reads, size_t count, struct dsfs_arena *arena,
			 struct error *err);
	/* For a queue: makes a set of reads that end later, with at most depth reads of the device in flight. */
	int (*pending_new)(struct opened *opened, unsigned depth, struct pending **ret, struct error *err);
	/* NULL: this backend does not tell where files lie. */
	int (*extents)(struct opened *opened, uint64_t id, uint64_t offset, struct dsfs_file_extent *ret, size_t most,
		       struct error *err);
	/* NULL: this backend does not tell which files are neighbours. */
	int (*placed)(struct opened *opened, uint64_t first, uint64_t *ids, size_t most, struct error *err);
	/* Opens the version that a handle should have now; *ret is NULL if that is this one and nothing else
	 * changed. 1: its daemon cannot tell, so the caller must open the name again. */
	int (*renew)(struct opened *opened, const struct query *query, struct opened **ret, struct error *err);
	/* Whether the daemon that handed the version over still lives. NULL: no daemon did. */
	bool (*lives)(const struct opened *opened);
	void (*close)(struct opened *opened);
};

/* One version, constant while it is open; the last use closes it. Each backend's own structure begins with it. */
struct opened {
	const struct backend *backend;
	_Atomic uint64_t uses;
	struct dsfs_info info;
};

/* Refuses to read anything but a regular file: -EISDIR, -EINVAL. */
int lib_refuse_kind(uint64_t id, mode_t mode, struct error *err);
/* Makes a folder of the version the root of the handle. -EBADMSG: the id is not of this version. */
must_check int lib_set_root(struct dsfs_info *info, uint64_t id, struct error *err);
/* Refuses another version than that of a folder that is mounted alone. */
int lib_refuse_version(const struct query *query, const char *label, struct error *err);

/* Checks that the id is of this version. -ESTALE: it is of another one; -ENOENT: it does not exist. */
must_check int lib_check_id(const struct opened *opened, uint64_t id, struct error *err);

/* Converts an ordinal of the version's index to an id. The first one is the id of the version's root. */
static inline uint64_t lib_id(const struct dsfs_info *info, uint64_t ordinal)
{
	return info->sequence << DSFS_ORDINAL_BITS | ordinal;
}

static inline uint64_t lib_first_id(const struct dsfs_info *info)
{
	return lib_id(info, 1);
}

static inline bool lib_has_id(const struct dsfs_info *info, uint64_t id)
{
	return id - lib_first_id(info) < info->ids;
}

/* Whether both are the same version, whichever daemon or device they come from. */
static inline bool lib_is_same(const struct dsfs_info *a, const struct dsfs_info *b)
{
	return a->sequence == b->sequence && !memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}
