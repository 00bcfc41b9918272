/* SPDX-License-Identifier: MIT */
/* Owns the backend past the mount: an opened version whose index and volume this process holds. */
#pragma once
#include <stdint.h>
#include <sys/stat.h>

#include "image/catalogue/catalogue.h"
#include "image/inode.h"
#include "io/array.h"
#include "lib/lib.h"
#include "opened/opened_version.h"

struct cached;
struct children;
struct chunk_cache;
struct link;
struct page_cache;

/* The volume, shared by the versions of a handle and counted. */
struct direct_volume {
	_Atomic uint64_t uses;
	struct array_source *array;
	/* Guarded by forked_lock(). A forked child makes its own of these, with this generation. */
	uint64_t generation;
	struct chunk_cache *cache;
	struct page_cache *pages;
	struct route *route; /* NULL: the volume has one member */
	struct window *window;
	/* The machine's cache, as the daemon lends it, with a descriptor behind those of the members; NULL: none.
	 * Changes when another daemon lends it. Uses of it are taken under forked_lock(), too. */
	_Atomic(struct cached *) cached;
	struct stat identities[]; /* of the descriptors, to notice if the program has replaced one */
};

struct direct {
	struct opened opened; /* must be first */
	struct opened_version version;
	struct direct_volume *volume;
	struct link *link; /* to the daemon that handed the version over; NULL: opened by the name of its volume */
	uint64_t key; /* identifies this opening in the caches */
	uint64_t signed_date; /* of the version, if the query has trust; else 0 */
	_Atomic(struct children *) children; /* owned by place.c; NULL until first needed, or always */
	_Atomic(uint64_t *) marks; /* owned by placed.c; NULL until first needed */
};

/* Converts an ordinal of the index to the id that programs see. */
static inline uint64_t direct_id(const struct direct *direct, uint64_t ordinal)
{
	return lib_id(&direct->opened.info, ordinal);
}

static inline uint64_t direct_ordinal(const struct direct *direct, uint64_t id)
{
	return id - lib_id(&direct->opened.info, 0);
}

/* Returns the directory to which paths are relative: the version's root, or the folder that is mounted alone. */
static inline uint64_t direct_root(const struct direct *direct)
{
	return direct_ordinal(direct, direct->opened.info.root);
}

extern const struct backend direct_backend;

/* Opens the version that the query asks for from the volume named query->where. */
must_check int direct_open_volume(const struct query *query, struct opened **ret, struct error *err);
/* Makes a volume of members that are open already, with one use counted. Takes array on success. */
must_check int direct_volume_new(struct array_source *array, struct direct_volume **ret, struct error *err);
void direct_volume_put(struct direct_volume *volume);
/* Checks that the descriptors still lead to the volume; -EBADF: one of them does not. */
must_check int direct_check_volume(const struct direct_volume *volume, struct error *err);
/* Makes the backend of an opened version. Takes the contents of *version and the volume's use, also on failure. */
must_check int direct_new(struct opened_version *version, struct direct_volume *volume, struct opened **ret,
			  struct error *err);
/* Frees a version that no context uses any more; for the close operation of the backend. */
void direct_free(struct direct *direct);
/* Describes a version from its catalogue record. way: how it was opened. */
void direct_describe(const struct version *version, enum dsfs_way way, struct dsfs_info *ret);
/* Notes that the version came from a daemon. Takes link. */
void direct_link(struct opened *opened, struct link *link);
/* Checks the digest of the index against the one asked for; -EBADMSG: they differ. */
must_check int direct_check_digest(const struct opened_version *version, const struct query *query, struct error *err);
/* Finds the version that the query means now: sets its sequence, UUID and label. */
must_check int direct_find(struct source *source, const struct query *query, struct dsfs_info *ret, struct error *err);
bool direct_is(const struct dsfs_info *info, const struct version *version);
/* Whether the volume has a version with this sequence and UUID now. */
bool direct_has(const struct direct *direct, uint64_t sequence, const uint8_t *uuid);
/* Loads the version that the query means now. If that is the version `known`, which may be NULL, loads nothing and sets
 * *ret to NULL. With trust, refuses a version whose signed date is before that of `known`. rings: see
 * catalogue_load(). */
must_check int direct_load_current(struct direct_volume *volume, struct superblock_ring *rings,
				   const struct query *query, const struct opened *known, struct opened **ret,
				   struct error *err);
/* Implements backend->renew for a version that was opened by the name of its volume. */
must_check int direct_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err);
