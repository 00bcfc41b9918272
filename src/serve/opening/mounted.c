/* SPDX-License-Identifier: MIT */
/* Compares the superblock with the one that the mount saw before: a publisher may reformat the volume, a superblock
 * slot may be unreadable for a while, and a volume may be restored to an older state. */
#include "serve/opening/mounted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "device/locate.h"

/* Warns if the volume is a copy: a cloned namespace, or a copy in a file, differs only in its identity. super: the
 * superblock of the member to check. */
static void mounted_check_identity(const struct serve *serve, const struct superblock *super)
{
	char found[TOPOLOGY_IDENTITY_SIZE];
	struct error why = { 0 };

	if (!super->identity[0])
		return;
	if (locate_identity(serve->volume.array->fds[super->member], found, &why) < 0)
		log_warn("cannot tell which namespace '%s' is: %s, ignoring", serve->options.volume, why.reason);
	else if (strcmp(found, super->identity) != 0)
		log_warn("'%s' was published on '%s' and lies on %s%s%s now: this is a copy, ignoring",
			 serve->options.volume, super->identity, found[0] ? "'" : "something else",
			 found, found[0] ? "'" : "");
}

/* super: the superblock of any member, which need not be read again. */
static void mounted_check_identities(const struct serve *serve, const struct superblock *super)
{
	struct superblock other;

	mounted_check_identity(serve, super);
	for (uint32_t i = 0; i < serve->volume.array->count; i++)
		if (i != super->member && superblock_find(&serve->volume.array->source, i, &other, NULL) == 0)
			mounted_check_identity(serve, &other);
}

bool mounted_is_other(const struct serve *serve, const struct superblock *super)
{
	return super->sequence && memcmp(serve->volume.uuid, super->volume_uuid, sizeof(serve->volume.uuid)) != 0;
}

static int mounted_check_volume(struct serve *serve, const struct superblock *super, struct error *err)
{
	struct error stale = { 0 };

	if (!serve_current(serve)) {
		memcpy(serve->volume.uuid, super->volume_uuid, sizeof(serve->volume.uuid));
		serve->volume.opened = super->sequence;
		if (superblock_may_be_stale(super, &stale))
			log_warn("volume '%s': %s", serve->options.volume, stale.reason);
		mounted_check_identities(serve, super);
	}
	if (!mounted_is_other(serve, super))
		return 0;
	generations_compare(&serve->generations, NULL);
	return superblock_check_volume(super, serve->volume.uuid, err);
}

static void mounted_remember(struct serve *serve, uint64_t sequence)
{
	uint64_t newest = atomic_load(&serve->volume.newest);

	while (newest < sequence && !atomic_compare_exchange_weak(&serve->volume.newest, &newest, sequence))
		continue;
}

int mounted_check(struct serve *serve, const struct superblock *super, uint64_t seen, struct error *err)
{
	int r = mounted_check_volume(serve, super, err);

	return r < 0 ? r : superblock_check_seen(super, seen, err);
}

int mounted_read(struct serve *serve, struct superblock *ret_super, struct catalogue *ret, struct error *err)
{
	auto_free struct superblock_ring *rings = atomic_exchange(&serve->volume.rings, NULL);
	struct source *source = &serve->volume.array->source;
	uint64_t seen = atomic_load(&serve->volume.newest);
	int r;

	*ret_super = (struct superblock){ 0 };
	r = catalogue_load_shown(source, rings, !rings && serve_current(serve) ? seen : UINT64_MAX, ret_super, ret,
				 err);
	if (r == -ESTALE) /* members may have been added */
		serve_request_rejoin(serve);
	if (r == 0)
		r = mounted_check(serve, ret_super, seen, err);
	if (r < 0)
		return r;
	mounted_remember(serve, ret_super->sequence);
	if (ret_super->sequence == atomic_load(&serve->volume.newest))
		generations_compare(&serve->generations, ret);
	for (uint32_t i = 0; i < ret->members.count; i++)
		if (ret->members.list[i].missing_from)
			serve_request_rejoin(serve);
	return 0;
}

bool mounted_is_outdated(struct serve *serve, const struct superblock *super)
{
	struct catalogue catalogue = { 0 };
	struct superblock newer;
	int r;

	if (!super->sequence)
		return false;
	r = mounted_read(serve, &newer, &catalogue, NULL);
	catalogue_free(&catalogue);
	return r == 0 && newer.sequence > super->sequence;
}
