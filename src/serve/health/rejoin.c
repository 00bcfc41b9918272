/* SPDX-License-Identifier: MIT */
/* Opens the members that the newest catalogue names. One that joins takes over the descriptor number that its slot has
 * had since the mount, and members_note() records which content it lacks. */
#include "serve/health/rejoin.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "assembly/assembly.h"
#include "assembly/naming.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "device/locate.h"
#include "image/catalogue/catalogue.h"
#include "io/site.h"
#include "serve/health/reopen.h"
#include "serve/opening/mounted.h"
#include "serve/successor/successor.h"

#define REJOIN_PERIOD INT64_C(5000000000) /* ns between two attempts, each of which opens all candidates */
#define REJOIN_PAUSE  INT64_C(300000000000) /* ns, if this mount cannot take in members that were added */

/* Whether the file is the one that the slot already has. */
static bool rejoin_is_there(const struct serve *serve, uint32_t slot, const struct file_source *file)
{
	const struct serve_volume *volume = &serve->volume;
	struct stat ours, found;

	return array_has(volume->array, slot) && fstat(volume->array->fds[slot], &ours) == 0 &&
	       fstat(file->fd, &found) == 0 && site_is_same(&ours, &found);
}

static int rejoin_take(struct serve *serve, uint32_t slot, struct assembly *assembly, struct error *err)
{
	uint32_t block = assembly->array->files[slot]->geometry.logical_block;
	uint32_t expected = serve->volume.array->geometry[slot].logical_block;
	int r;

	if (block > expected)
		return error_set(err, -EINVAL,
				 "member %" PRIu32 " ('%s') has logical blocks of %u bytes, expected %u or less: mount "
				 "again to use it", slot, assembly->names[slot], block, expected);
	r = array_adopt(serve->volume.array, slot, assembly->array->files[slot], err);
	if (r < 0)
		return r;
	(void)array_put(assembly->array, slot, NULL);
	serve_rename_member(serve, slot, take_ptr(&assembly->names[slot]));
	reopen_renew(serve, slot);
	log_warn("member %" PRIu32 " of '%s' is used again, it is '%s'", slot, serve->options.volume,
		 atomic_load(&serve->volume.members[slot].name));
	return 0;
}

/* Tells all open versions, as those opened before the member came have groups on it, too. */
static void rejoin_note(struct serve *serve, uint32_t slot, uint64_t missing_from)
{
	struct generation *generation;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (generation)
			members_note(&generation->opened.index->members, slot, missing_from);
	}
}

static int rejoin_take_one(struct serve *serve, uint32_t slot, struct assembly *assembly, uint64_t missing_from,
			   struct error *err)
{
	int r = 0;

	if (!rejoin_is_there(serve, slot, assembly->array->files[slot]))
		r = rejoin_take(serve, slot, assembly, err);
	if (r == 0) {
		reopen_found(serve, slot);
		rejoin_note(serve, slot, missing_from);
	}
	return r;
}

/* Takes all members that can be used. *ret_whole: all are there, complete and in use. The error is that of the first
 * member that cannot be used. */
static int rejoin_take_all(struct serve *serve, struct assembly *assembly, const struct members *members,
			   bool *ret_whole, struct error *err)
{
	int r = 0, taken;

	*ret_whole = true;
	for (uint32_t i = 0; i < members->count; i++) {
		const struct file_source *file = assembly->array->files[i];
		uint64_t missing_from = members->list[i].missing_from;

		if (missing_from || !file)
			*ret_whole = false;
		if (missing_from == 1 || !file)
			continue;
		taken = rejoin_take_one(serve, i, assembly, missing_from, r == 0 ? err : NULL);
		r = r == 0 ? taken : r;
	}
	*ret_whole = *ret_whole && r == 0;
	return r;
}

/* Leaves members that were added to the next server: whatever this one made for each member has no place for them. */
static int rejoin_widen(struct serve *serve, const struct assembly *assembly, struct error *err)
{
	uint32_t first = serve->volume.array->count;

	for (uint32_t i = first; i < assembly->count; i++)
		if (!assembly->names[i])
			return error_set(err, -ENODEV, "member %" PRIu32 " was added, and is not found: it is neither "
					 "where the others are nor named", i);
	return successor_widen(serve, assembly->array->fds, assembly->names, assembly->count, err);
}

static int rejoin_look(struct serve *serve, const char *name, bool *ret_whole, struct error *err)
{
	struct assembly assembly = { 0 };
	struct catalogue catalogue = { 0 };
	struct superblock super;
	int r = assembly_open(name, FILE_PATIENCE, &assembly, err);

	if (r == 0)
		r = catalogue_load(&assembly.array->source, assembly.rings, &super, &catalogue, err);
	if (r == 0)
		r = mounted_check(serve, &super, atomic_load(&serve->volume.newest), err);
	if (r == 0 && assembly.count > serve->volume.array->count)
		r = rejoin_widen(serve, &assembly, err);
	else if (r == 0 && assembly.count < serve->volume.array->count) /* an empty volume has 1 */
		r = error_set(err, -EINVAL, "the volume has %" PRIu32 " members now, had %" PRIu32 " at the mount",
			      assembly.count, serve->volume.array->count);
	else if (r == 0)
		r = rejoin_take_all(serve, &assembly, &catalogue.members, ret_whole, err);
	catalogue_free(&catalogue);
	assembly_close(&assembly);
	return r;
}

/* The member that the volume was mounted by may be the missing one, so the names of the others are tried as well. */
static int rejoin_try(struct serve *serve, bool *ret_whole)
{
	static struct log_limit limit = { .burst = 2 };
	struct error err = { 0 };
	unsigned suppressed;
	int r = rejoin_look(serve, serve->options.volume, ret_whole, &err);
	bool is_all = r == 0 && naming_is_one(serve->options.volume); /* no other name can find more */

	for (uint32_t i = 0; !*ret_whole && !is_all && r != -EOPNOTSUPP && i < serve->volume.array->count; i++) {
		const char *name = atomic_load(&serve->volume.members[i].name);

		if (!name || route_is_suspect(serve->volume.route, i, clock_now()))
			continue;
		err = (struct error){ 0 };
		r = rejoin_look(serve, name, ret_whole, &err);
		is_all = r == 0;
	}
	if (r < 0 && log_allow(&limit, &suppressed))
		log_error(&err, "cannot look for members of '%s', trying again", serve->options.volume);
	return r;
}

/* In a successor, commands that its predecessor did not finish come first: a search may wait for a member. */
void rejoin_begin(const struct serve *serve, struct rejoin *rejoin)
{
	rejoin->when = serve->adopts ? clock_now() + REJOIN_PERIOD : 0;
}

int64_t rejoin_settle(struct serve *serve, struct rejoin *rejoin)
{
	bool is_whole = false;
	int64_t now = clock_now();

	if (!serve->volume.route || !atomic_load(&serve->due.rejoin))
		return 0;
	if (now < rejoin->when)
		return rejoin->when;
	rejoin->when = now + REJOIN_PERIOD;
	atomic_store(&serve->due.rejoin, false); /* before looking, as another thread may set it meanwhile */
	if (rejoin_try(serve, &is_whole) == -EOPNOTSUPP)
		rejoin->when = now + REJOIN_PAUSE;
	if (is_whole)
		return 0;
	atomic_store(&serve->due.rejoin, true);
	return rejoin->when;
}
