/* SPDX-License-Identifier: MIT */
/* The way past the mount: an opened version whose index and volume this process holds. */
#pragma once
#include <stdint.h>
#include <sys/stat.h>

#include "image/block_sums.h"
#include "image/catalogue.h"
#include "image/index.h"
#include "image/inode.h"
#include "io/array.h"
#include "lib/lib.h"

struct children;
struct chunk_cache;
struct link;
struct page_cache;

/* The volume, shared by the versions of a handle; counted. */
struct volume {
	_Atomic uint64_t uses;
	struct array_source *array;
	/* Guarded by forked_lock(); each forked child has its own, of this generation. */
	uint64_t generation;
	struct chunk_cache *cache;
	struct page_cache *pages;
	struct route *route; /* NULL: it has one member */
	struct stat identities[]; /* of the descriptors: the program may have closed one, and opened something else */
};

struct direct {
	struct opened opened; /* the first member */
	struct index *index;
	struct block_sums *block_sums; /* NULL: it has none */
	struct volume *volume;
	struct link *link; /* to the daemon that handed it over; NULL: opened by its volume */
	uint32_t hidden_mode; /* bits of modes that stat does not show, as of the mount */
	uint64_t key; /* of this opening, for the caches */
	_Atomic(struct children *) children; /* place.c's: NULL until somebody needs it, or always */
};

/* An ordinal of the index as the id that programs have, and back. */
static inline uint64_t direct_id(const struct direct *direct, uint64_t ordinal)
{
	return direct->opened.info.root - INODE_ROOT + ordinal;
}

static inline uint64_t direct_ordinal(const struct direct *direct, uint64_t id)
{
	return id - direct->opened.info.root + INODE_ROOT;
}

extern const struct way direct_way;

/* Opens by the name of the volume. */
must_check int direct_open_volume(const struct wish *wish, struct opened **ret, struct error *err);
/* A volume whose members are open already; takes array on success, with the first use counted. */
must_check int direct_volume_new(struct array_source *array, struct volume **ret, struct error *err);
void direct_volume_put(struct volume *volume);
/* Whether the descriptors still lead to the volume: -EBADF. */
must_check int direct_check_volume(const struct volume *volume, struct error *err);
/* An index that was checked; takes it, block_sums (may be NULL) and the volume's use, also on failure.
 * What it tells of itself is info's, but for root and ids. */
must_check int direct_new(const struct dsfs_info *info, struct index *index, struct block_sums *block_sums,
			  struct volume *volume, struct opened **ret, struct error *err);
/* For ways: no lane of it is left. */
void direct_free(struct direct *direct);
/* What a version says of itself. */
void direct_describe(const struct version *version, enum dsfs_way way, struct dsfs_info *ret);
/* It came from a daemon. Takes link. */
void direct_attach(struct opened *opened, struct link *link, uint32_t hidden_mode);
/* Whether the index has the contents that are wished for. */
must_check int direct_check_digest(struct index *index, const struct wish *wish, const char *label, struct error *err);
/* Which version of the volume is wished for now: sequence, UUID and label. */
must_check int direct_find(struct source *source, const struct wish *wish, struct dsfs_info *ret, struct error *err);
bool direct_is(const struct dsfs_info *info, const struct version *version);
/* Whether the volume has a version with this number and UUID now. */
bool direct_has(const struct direct *direct, uint64_t sequence, const uint8_t *uuid);
/* Loads the one that is wished for; known: unless it is this one, then *ret is NULL. */
must_check int direct_load_current(struct volume *volume, const struct wish *wish, const struct dsfs_info *known,
				   struct opened **ret, struct error *err);
must_check int direct_renew(struct opened *opened, const struct wish *wish, struct opened **ret, struct error *err);
