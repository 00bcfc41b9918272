/* SPDX-License-Identifier: MIT */
/* Opens a version by the name of its volume, as a mount does, and finds its successor. */
#include "lib/direct/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assembly/assembly.h"
#include "base/cleanup.h"
#include "base/same.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "image/catalogue/dump.h"
#include "image/children.h"
#include "image/inode.h"
#include "image/places.h"
#include "io/window.h"
#include "lib/direct/daemon/link.h"
#include "lib/direct/trusted.h"
#include "lib/forked.h"
#include "lib/high.h"
#include "read/cached.h"
#include "read/chunk_cache.h"
#include "read/page_cache.h"
#include "read/route.h"
#include "trust/statement.h"

#define DIGEST_KIND "sha256:"

int direct_volume_new(struct array_source *array, struct direct_volume **ret, struct error *err)
{
	struct direct_volume *volume = calloc(1, sizeof(*volume) + array->count * sizeof(volume->identities[0]));

	if (!volume)
		return error_no_memory(err);
	for (uint32_t i = 0; i < array->count; i++) {
		struct file_source *file = array->files[i];

		if (!file) /* the member is missing and not needed */
			continue;
		high_move(&file->fd);
		(void)array_put(array, i, file);
		if (fstat(file->fd, &volume->identities[i]) < 0) {
			free(volume);
			return error_errno(err, "fstat");
		}
	}
	volume->array = array;
	atomic_store(&volume->uses, 1);
	*ret = volume;
	return 0;
}

static bool direct_has_member(const struct direct_volume *volume, uint32_t member)
{
	int fd = volume->array->fds[member];

	return fd < 0 || same_fd(fd, &volume->identities[member]); /* fd < 0: the member is missing */
}

/* Closes the volume, but leaves open each descriptor that the program has reused for something else. */
static void direct_close_volume(struct direct_volume *volume)
{
	for (uint32_t i = 0; i < volume->array->count; i++)
		if (!direct_has_member(volume, i))
			free(array_put(volume->array, i, NULL));
	array_close(volume->array);
}

/* In a child that made no context of its own, the uses of its parent's contexts count for nothing. */
static void direct_drop_cached(struct direct_volume *volume)
{
	struct cached *cached = atomic_load(&volume->cached);

	if (cached && volume->generation != forked_generation())
		atomic_store(&cached->uses, 1);
	cached_free(cached);
}

void direct_volume_put(struct direct_volume *volume)
{
	if (!volume || atomic_fetch_sub(&volume->uses, 1) != 1)
		return;
	direct_close_volume(volume);
	direct_drop_cached(volume);
	if (volume->generation == forked_generation()) { /* a parent's caches may be locked, or half changed */
		chunk_cache_free(volume->cache);
		page_cache_free(volume->pages);
		route_free(volume->route);
		window_free(volume->window);
	}
	free(volume);
}

int direct_check_volume(const struct direct_volume *volume, struct error *err)
{
	for (uint32_t i = 0; i < volume->array->count; i++)
		if (!direct_has_member(volume, i))
			return error_set(err, -EBADF,
					 "descriptor %d was the volume and is not any more: the program closed it",
					 volume->array->fds[i]);
	return 0;
}

void direct_describe(const struct version *version, enum dsfs_way way, struct dsfs_info *ret)
{
	*ret = (struct dsfs_info){ .size = sizeof(*ret),
				   .way = way,
				   .sequence = version->sequence,
				   .files = version->file_count,
				   .bytes = version->content_bytes };
	memcpy(ret->label, version->label, sizeof(ret->label));
	memcpy(ret->uuid, version->uuid, sizeof(ret->uuid));
	memcpy(ret->digest, DIGEST_KIND, strlen(DIGEST_KIND));
	format_hex(version->digest, sizeof(version->digest), ret->digest + strlen(DIGEST_KIND));
}

int direct_new(struct opened_version *version, struct direct_volume *volume, struct opened **ret, struct error *err)
{
	static _Atomic uint64_t opened;
	struct direct *direct = calloc(1, sizeof(*direct));
	struct dsfs_info *info;

	if (!direct) {
		opened_version_close(version);
		direct_volume_put(volume);
		return error_no_memory(err);
	}
	direct->opened.backend = &direct_backend;
	info = &direct->opened.info;
	direct_describe(&version->version, DSFS_WAY_VOLUME, info);
	info->root = lib_first_id(info);
	info->ids = version->index->shape.inode_count;
	info->order = places_has_table(version->index) ? DSFS_ORDER_RANDOM : DSFS_ORDER_TREE;
	atomic_store(&direct->opened.uses, 1);
	/* The mapping is enough, and programs close descriptors that they do not know. */
	close(take_fd(&version->index->memfd));
	direct->version = *version;
	*version = (struct opened_version){ .index = NULL };
	direct->volume = volume;
	direct->key = atomic_fetch_add(&opened, 1) + 1;
	*ret = &direct->opened;
	return 0;
}

void direct_link(struct opened *opened, struct link *link)
{
	struct direct *direct = (struct direct *)opened;

	opened->info.way = DSFS_WAY_DIRECT;
	direct->link = link;
}

void direct_free(struct direct *direct)
{
	link_close(direct->link);
	children_free(atomic_load(&direct->children));
	free(atomic_load(&direct->marks));
	opened_version_close(&direct->version);
	direct_volume_put(direct->volume);
	free(direct);
}

/* --- opening --- */

static int direct_choose(const struct catalogue *catalogue, const struct query *query, const struct version **ret,
			 struct error *err)
{
	const struct version *version;

	if (query->version) {
		version = catalogue_by_label(catalogue, query->version);
		if (!version)
			return catalogue_refuse(catalogue, query->version, err);
	} else {
		version = catalogue_current(catalogue);
		if (!version)
			return error_set(err, -ENOENT, "the volume has no current version: name one");
	}
	*ret = version;
	return 0;
}

bool direct_is(const struct dsfs_info *info, const struct version *version)
{
	return version->sequence == info->sequence && !memcmp(version->uuid, info->uuid, sizeof(info->uuid));
}

int direct_find(struct source *source, const struct query *query, struct dsfs_info *ret, struct error *err)
{
	struct catalogue catalogue = { 0 };
	struct superblock super = { 0 };
	const struct version *version = NULL;
	int r = catalogue_load(source, NULL, &super, &catalogue, err);

	if (r == 0)
		r = direct_choose(&catalogue, query, &version, err);
	if (r == 0)
		direct_describe(version, DSFS_WAY_DIRECT, ret);
	catalogue_free(&catalogue);
	return r;
}

bool direct_has(const struct direct *direct, uint64_t sequence, const uint8_t *uuid)
{
	struct catalogue catalogue = { 0 };
	struct superblock super = { 0 };
	bool has = catalogue_load(&direct->volume->array->source, NULL, &super, &catalogue, NULL) == 0 &&
		   catalogue_holds(&catalogue, sequence, uuid);

	catalogue_free(&catalogue);
	return has;
}

/* Compares the digest of the index itself, not the one in the catalogue. */
int direct_check_digest(const struct opened_version *version, const struct query *query, struct error *err)
{
	uint8_t found[32], expected[32];
	char text[65];
	int r;

	if (!query->digest)
		return 0;
	if (strncmp(query->digest, DIGEST_KIND, strlen(DIGEST_KIND)) != 0)
		return error_set(err, -EINVAL, "digest '%s': expected sha256: and 64 hexadecimal digits",
				 query->digest);
	r = parse_hex(query->digest + strlen(DIGEST_KIND), expected, sizeof(expected), err);
	if (r == 0)
		r = dump_digest(version->index, found, err);
	if (r < 0 || !memcmp(found, expected, sizeof(found)))
		return r;
	format_hex(found, sizeof(found), text);
	return error_set(err, -EBADMSG, "version '%s' has the digest sha256:%s, expected %s", version->version.label,
			 text, query->digest);
}

/* Loads a version, if need be without block checksums: parts of large files are then read in whole chunks. */
static int direct_load(struct direct_volume *volume, const struct catalogue *catalogue, const struct version *version,
		       const struct query *query, struct opened **ret, struct error *err)
{
	struct opened_version opened = { .hidden_mode = S_ISUID | S_ISGID };
	int r = opened_version_load(backing_of(&volume->array->source, &catalogue->members), version, &opened, NULL,
				    err);

	if (r < 0)
		return r;
	r = direct_check_digest(&opened, query, err);
	if (r == 0)
		r = trusted_index(opened.index, version, query, err);
	if (r < 0) {
		opened_version_close(&opened);
		return r;
	}
	atomic_fetch_add(&volume->uses, 1);
	return direct_new(&opened, volume, ret, err);
}

/* Loads the version that the query means by this catalogue; *ret is NULL if it is `known`. */
static int direct_load_query(struct direct_volume *volume, const struct catalogue *catalogue, const struct query *query,
			     const struct opened *known, struct opened **ret, struct error *err)
{
	const struct version *version = NULL;
	struct trust_signer signer;
	int r = direct_choose(catalogue, query, &version, err);

	if (r < 0)
		return r;
	if (known && direct_is(&known->info, version)) {
		*ret = NULL;
		return 0;
	}
	r = trust_check(&query->trust, version, catalogue->volume_uuid, &signer, err);
	if (r == 0 && known)
		r = statement_check_date((struct statement_dated){ version->label, signer.date },
					 (struct statement_dated){ known->info.label,
								   ((const struct direct *)known)->signed_date },
					 "open the volume anew", err);
	if (r == 0)
		r = direct_load(volume, catalogue, version, query, ret, err);
	if (r == 0)
		((struct direct *)*ret)->signed_date = signer.date;
	return r;
}

/* Whether the volume has a newer superblock than this one. */
static bool direct_is_outdated(struct direct_volume *volume, const struct superblock *super)
{
	struct superblock newer;

	return super->sequence && catalogue_load_newest(&volume->array->source, &newer, NULL) == 0 &&
	       newer.sequence > super->sequence;
}

/* Tries again when the load is overtaken: the version may be removed, and its index overwritten, while it is read. */
int direct_load_current(struct direct_volume *volume, struct superblock_ring *rings, const struct query *query,
			const struct opened *known, struct opened **ret, struct error *err)
{
	struct source *source = &volume->array->source;
	struct catalogue catalogue;
	struct superblock super;
	int r;

	do {
		super = (struct superblock){ 0 };
		catalogue = (struct catalogue){ 0 };
		r = catalogue_load(source, rings, &super, &catalogue, err);
		if (r == 0)
			r = direct_load_query(volume, &catalogue, query, known, ret, err);
		catalogue_free(&catalogue);
		rings = NULL;
	} while (r == -EBADMSG && direct_is_outdated(volume, &super));
	return r;
}

/* Finds the volume. A single member, which has answered by now, gets no time limit any more. */
static int direct_find_volume(const char *where, struct direct_volume **ret, struct superblock_ring **ret_rings,
			      struct error *err)
{
	struct assembly assembly;
	int r = assembly_open(where, FILE_WAITS, &assembly, err);

	if (r < 0)
		return r;
	if (assembly.count == 1)
		assembly.array->files[0]->patience = 0;
	r = direct_volume_new(assembly.array, ret, err);
	if (r == 0) {
		assembly.array = NULL;
		*ret_rings = take_ptr(&assembly.rings);
	}
	assembly_close(&assembly);
	return r;
}

int direct_open_volume(const struct query *query, struct opened **ret, struct error *err)
{
	auto_free struct superblock_ring *rings = NULL;
	struct direct_volume *volume = NULL;
	int r = direct_find_volume(query->where, &volume, &rings, err);

	if (r == 0)
		r = direct_load_current(volume, rings, query, NULL, ret, err);
	direct_volume_put(volume);
	return r < 0 ? error_wrap(err, r, "'%s'", query->where) : 0;
}

int direct_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err)
{
	struct direct *direct = (struct direct *)opened;
	int r = direct_check_volume(direct->volume, err);

	return r < 0 ? r : direct_load_current(direct->volume, NULL, query, opened, ret, err);
}
