/* SPDX-License-Identifier: MIT */
/* What a handle of libdatasetfs is made of: an opened version, and the way to its files. Two ways have the same
 * operations: direct.c reads index and volume itself, mounted.c goes through the mount. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "datasetfs/datasetfs.h"

struct opened;
struct pending;

/* Reads that end later, of one queue: one thread at a time. */
struct pending_ops {
	/* Takes all or none. */
	int (*submit)(struct pending *pending, struct dsfs_read *reads, size_t count, struct error *err);
	/* As dsfs_queue_wait(). */
	int (*wait)(struct pending *pending, size_t least, struct dsfs_read **ret, size_t most, int timeout,
		    struct error *err);
	void (*free)(struct pending *pending); /* waits for reads under way */
};

struct pending {
	const struct pending_ops *ops;
};

/* What dsfs_open() was asked for; the handle's, constant. */
struct wish {
	const char *where;
	uint32_t flags;      /* DSFS_OPEN_* */
	const char *version; /* NULL: the current one */
	const char *digest;  /* NULL: any */
};

/* What a way does. Ids are of the opened version: the callers in this folder have checked that. */
struct way {
	enum dsfs_way kind;
	int (*lookup)(struct opened *opened, const char *path, uint64_t *ret_id, struct error *err);
	/* Each of ids gets an id or a negative errno; returns the first of these, whose reason err gets. NULL: they are
	 * looked up one after the other. */
	int (*lookup_many)(struct opened *opened, const char *const *paths, size_t count, int64_t *ids,
			   struct error *err);
	int (*stat)(struct opened *opened, uint64_t id, struct stat *ret, struct error *err);
	int (*readlink)(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err);
	int (*path)(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err);
	int (*list)(struct opened *opened, uint64_t directory,
		    int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument, struct error *err);
	/* A directory before its entries. No recursion: how deep the tree is says who packed it. */
	int (*walk)(struct opened *opened, uint64_t directory,
		    int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument, struct error *err);
	int (*range)(struct opened *opened, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count,
		     struct error *err);
	int (*versions)(struct opened *opened, int (*each)(void *argument, const struct dsfs_version_info *version),
			void *argument, struct error *err);
	int (*read_many)(struct opened *opened, struct dsfs_read *reads, size_t count, struct dsfs_arena *arena,
			 struct error *err);
	/* For a queue: reads that end later, of at most depth device reads at a time. */
	int (*pending_new)(struct opened *opened, unsigned depth, struct pending **ret, struct error *err);
	/* NULL: the file has no places that the caller may know. */
	int (*extents)(struct opened *opened, uint64_t id, uint64_t offset, struct dsfs_file_extent *ret, size_t most,
		       struct error *err);
	/* The version that a handle should have by now; *ret is NULL when that is this one and nothing else changed. */
	int (*renew)(struct opened *opened, const struct wish *wish, struct opened **ret, struct error *err);
	void (*close)(struct opened *opened);
};

/* One version, constant while it is open; closed with the last use. The first member of what a way keeps. */
struct opened {
	const struct way *way;
	_Atomic uint64_t uses;
	struct dsfs_info info;
};

/* The same version, whatever daemon or device it comes from. */
static inline bool lib_is_same(const struct dsfs_info *a, const struct dsfs_info *b)
{
	return a->sequence == b->sequence && !memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}
