/* SPDX-License-Identifier: MIT */
/* Finds the one catalogue in force from the superblocks of all members. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "base/text/format.h"
#include "image/catalogue/catalogue.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"

#define LOAD_PLACES SUPERBLOCK_RINGS

static int catalogue_check_sha256(const uint8_t *bytes, const struct superblock *super, struct error *err)
{
	uint8_t found[SHA256_SIZE];
	int r = sha256_of(bytes, super->catalogue_length, found, err);

	if (r < 0)
		return r;
	if (memcmp(found, super->catalogue_sha256, sizeof(found)) != 0)
		return error_set(err, -EBADMSG, "catalogue: its SHA-256 is not the one in the superblock");
	return 0;
}

/* Whatever was made for each member when the volume was opened must have a place for each in this table: engines,
 * routes, counters. A catalogue of before members were added has fewer. */
static int catalogue_check_count(const struct source *source, struct catalogue *catalogue, struct error *err)
{
	uint32_t count = catalogue->members.count ? catalogue->members.count : 1;

	if (!source->count || count <= source->count)
		return 0;
	catalogue_free(catalogue);
	return error_set(err, -ESTALE, "the volume has %" PRIu32 " members now, had %" PRIu32 " when it was opened: "
			 "open it again", count, source->count);
}

int catalogue_load_by(struct source *source, const struct superblock *super, struct catalogue *ret,
		      struct error *err)
{
	auto_free uint8_t *bytes = aligned_alloc(DSFS_BLOCK, round_up(super->catalogue_length, DSFS_BLOCK));
	int r;

	if (!bytes)
		return error_no_memory(err);
	r = source_read(source, address_member(super->catalogue_address), address_offset(super->catalogue_address),
			bytes, super->catalogue_length, err);
	if (r < 0)
		return r;
	r = catalogue_check_sha256(bytes, super, err);
	if (r == 0)
		r = catalogue_decode(bytes, super->catalogue_length, super, ret, err);
	return r < 0 ? r : catalogue_check_count(source, ret, err);
}

/* --- a volume of one member --- */

static int load_one(struct source *source, struct superblock_ring *ring, struct superblock *super,
		    struct catalogue *ret, struct error *err)
{
	uint64_t tried;
	int r;

	do {
		struct superblock newer;

		r = catalogue_load_by(source, super, ret, err);
		if (r != -EBADMSG)
			break;
		tried = super->sequence;
		ring->is_read = false;
		superblock_read_rings(source, 0, ring, 1);
		if (superblock_of_ring(ring, &newer, NULL) < 0)
			break;
		*super = newer;
	} while (super->sequence > tried);
	return r;
}

/* --- a volume with a table of members --- */

/* The superblock found in the place of a member. */
struct load_place {
	struct superblock super; /* sequence 0: none that counts */
	uint64_t stale;          /* of a member that is behind: its sequence */
	bool has_lost_slots;     /* it counts by an older slot, because the newer ones are damaged */
	struct error why;        /* why it does not count */
};

struct load {
	struct source *source;
	struct superblock_ring *rings; /* LOAD_PLACES of them */
	struct load_place *places; /* LOAD_PLACES of them */
	uint64_t newest, total;    /* the highest sequence, and the sum of all */
	uint64_t seen;             /* every superblock up to this one counts if it is found */
};

static void load_look(struct load *load, uint32_t number, const struct superblock *first)
{
	struct load_place *place = &load->places[number];
	struct superblock super;

	*place = (struct load_place){ 0 };
	if (load->rings[number].reason.code == -ETIMEDOUT && !load->rings[number].is_read)
		place->why = load->rings[number].reason;
	else if (!load->rings[number].is_read || !source_size(load->source, number))
		error_set(&place->why, -ENODEV, "not found, nothing here has its superblock");
	else if (superblock_of_ring(&load->rings[number], &super, &place->why) < 0)
		return;
	else if (memcmp(super.volume_uuid, first->volume_uuid, sizeof(super.volume_uuid)) != 0)
		error_set(&place->why, -ENODEV, "another volume in its place");
	else if (super.member != number)
		error_set(&place->why, -ENODEV, "member %" PRIu32 " in its place", super.member);
	else
		place->super = super;
}

/* Looks at all places. first is the superblock of any member, which identifies the volume. */
static void load_look_at_all(struct load *load, const struct superblock *first)
{
	load->newest = load->total = 0;
	superblock_read_rings(load->source, 0, load->rings, LOAD_PLACES);
	for (uint32_t i = 0; i < LOAD_PLACES; i++) {
		load_look(load, i, first);
		load->total += load->places[i].super.sequence;
		if (load->places[i].super.sequence > load->newest)
			load->newest = load->places[i].super.sequence;
	}
}

/* Tries every copy of the newest catalogue, so that damage to one does not matter. */
static int load_newest(struct load *load, struct superblock *ret_super, struct catalogue *ret, struct error *err)
{
	int r = error_set(err, -ENODEV, "the superblocks of all members are gone");

	for (uint32_t i = 0; i < LOAD_PLACES; i++) {
		if (!load->newest || load->places[i].super.sequence != load->newest)
			continue;
		r = catalogue_load_by(load->source, &load->places[i].super, ret, err);
		if (r == 0)
			*ret_super = load->places[i].super;
		if (r == 0 || r == -ENOMEM)
			break;
	}
	return r;
}

/* True for a superblock of a member's known past. If a member was away for longer than the history goes back, the table
 * has its last superblock. An older one, from a slot that missed that, is known to be past too. */
static bool load_is_past(const struct members *members, const struct member *member, const struct superblock *super)
{
	uint32_t count = members->history_count;

	if (member->state != DSFS_MEMBER_STALE || !count || super->sequence >= members->history[count - 1].sequence)
		return false;
	return super->sequence < member->stale_sequence ||
	       (super->sequence == member->stale_sequence &&
		!memcmp(super->catalogue_sha256, member->stale_sha256, sizeof(member->stale_sha256)));
}

/* True if the member's slots of all superblocks after its own, which is age steps behind, are damaged. A copy of the
 * past would have valid ones. */
static bool load_has_lost_slots(const struct load *load, const struct superblock *newest,
				const struct members *members, uint32_t number, uint32_t age)
{
	uint32_t lost = load->rings[number].lost;
	bool is_lost = lost >> newest->sequence % DSFS_SLOT_COUNT & 1;

	for (uint32_t i = 0; i + 1 < age; i++)
		is_lost &= lost >> members->history[i].sequence % DSFS_SLOT_COUNT & 1;
	return is_lost;
}

/* Decides whether a member belongs to the newest catalogue. A member one step behind missed only the slot: an
 * interrupted publisher had written everything else to all members in use. One that is further behind counts as
 * missing, unless it lost slots that it had. */
static int load_judge(struct load *load, const struct superblock *newest, const struct members *members,
		      uint32_t number, struct error *err)
{
	const struct member *member = &members->list[number];
	struct load_place *place = &load->places[number];
	const struct superblock *super = &place->super;
	uint32_t age = members_age(members, super->sequence, super->catalogue_sha256);
	bool is_newest = super->sequence == newest->sequence &&
			 !memcmp(super->catalogue_sha256, newest->catalogue_sha256, sizeof(super->catalogue_sha256));

	if (!super->sequence)
		return 0;
	if (memcmp(super->member_uuid, member->uuid, sizeof(member->uuid)) != 0)
		error_set(&place->why, -ENODEV, "another member in its place");
	else if (is_newest)
		return members_check_superblock(members, super, err);
	else if (!age && !load_is_past(members, member, super))
		return error_set(err, -EBADMSG,
				 "members: member %" PRIu32 " ('%s') is of another branch, superblock %" PRIu64
				 " of it did not come before %" PRIu64,
				 number, member->identity, super->sequence, newest->sequence);
	else if (age > 1 && member->state == DSFS_MEMBER_IN_USE)
		place->has_lost_slots = load_has_lost_slots(load, newest, members, number, age);
	if (!place->why.code && ((age > 1 && !place->has_lost_slots) || member->state != DSFS_MEMBER_IN_USE))
		error_set(&place->why, -ESTALE, "stale since superblock %" PRIu64, super->sequence);
	if (place->why.code == -ESTALE)
		place->stale = super->sequence;
	if (place->why.code)
		place->super.sequence = 0;
	return 0;
}

__attribute__((format(printf, 3, 4))) static void load_note(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

/* Fails if so many members are missing that some bytes may be nowhere. */
static int load_check_missing(const struct load *load, const struct members *members, struct error *err)
{
	char names[sizeof(err->reason)] = "", uuid[UUID_TEXT_SIZE];
	uint32_t missing = 0;

	for (uint32_t i = 0; i < members->count; i++) {
		const struct load_place *place = &load->places[i];

		if (place->super.sequence)
			continue;
		format_uuid(members->list[i].uuid, uuid);
		load_note(names, sizeof(names), "%s member %" PRIu32 " (%s%s%s): %s", missing++ ? ";" : "", i,
			  members->list[i].identity, members->list[i].identity[0] ? " " : "", uuid,
			  place->why.reason);
	}
	if (missing && !members_tolerate(members))
		return error_set(err, -ENOLINK, "%" PRIu32 " of %" PRIu32 " members are missing:%s", missing,
				 members->count, names);
	return 0;
}

/* Sets which groups a member lacks. If the table knows that it was away, groups older than its last superblock are
 * complete, because a publisher without it opens new ones. Any other member that is behind is a copy of the past. */
static void load_enter(const struct load_place *place, struct member *member)
{
	member->missing_from = place->super.sequence ? 0 : 1;
	if (member->state == DSFS_MEMBER_STALE && place->stale == member->stale_sequence)
		member->missing_from = place->stale + 1;
	snprintf(member->why, sizeof(member->why), "%.*s", (int)sizeof(member->why) - 1,
		 member->missing_from ? place->why.reason : "");
}

static int load_judge_all(struct load *load, const struct superblock *newest, struct members *members,
			  struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < members->count; i++) {
		r = load_judge(load, newest, members, i, err);
		load_enter(&load->places[i], &members->list[i]);
	}
	return r < 0 ? r : load_check_missing(load, members, err);
}

/* True if a mount may follow the newest catalogue: the loss of members that may be lost must not undo it. Members that
 * are there are at most a step behind, except those that lost slots, which show nothing. */
static bool load_is_shown(const struct load *load, const struct members *members)
{
	uint32_t showing = 0, there = 0, least = members_spare(members) + 1;

	for (uint32_t i = 0; i < members->count; i++) {
		there += load->places[i].super.sequence && !load->places[i].has_lost_slots;
		showing += load->places[i].super.sequence == load->newest;
	}
	return load->newest <= load->seen || showing >= least || showing == there;
}

/* Loads the former catalogue from any member that still names the one in force before the newest. */
static int load_former_copy(struct load *load, uint32_t count, struct superblock *ret_super, struct catalogue *ret,
			    struct error *err)
{
	int r = error_set(err, -ENODEV, "no member names the catalogue before the newest one");

	for (uint32_t i = 0; i < count; i++) {
		if (!load->places[i].super.sequence || load->places[i].super.sequence == load->newest ||
		    load->places[i].has_lost_slots)
			continue;
		r = catalogue_load_by(load->source, &load->places[i].super, ret, err);
		if (r == 0)
			*ret_super = load->places[i].super;
		if (r == 0 || r == -ENOMEM)
			break;
	}
	return r;
}

/* Members that name the newest catalogue also have everything that the former one names. */
static int load_former(struct load *load, struct superblock *super, struct catalogue *catalogue, struct error *err)
{
	struct catalogue former = { 0 };
	int r = load_former_copy(load, catalogue->members.count, super, &former, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < former.members.count; i++)
		load_enter(&load->places[i], &former.members.list[i]);
	catalogue_free(catalogue);
	*catalogue = former;
	return load_check_missing(load, &catalogue->members, err);
}

static int load_try(struct load *load, struct superblock *super, struct catalogue *ret, struct error *err)
{
	int r;

	load_look_at_all(load, super);
	r = load_newest(load, super, ret, err);
	if (r < 0)
		return r;
	r = load_judge_all(load, super, &ret->members, err);
	if (r == 0 && !load_is_shown(load, &ret->members))
		r = load_former(load, super, ret, err);
	if (r < 0)
		catalogue_free(ret);
	return r;
}

/* Tries again while a publish is under way. */
static int load_all(struct source *source, struct superblock_ring *rings, uint64_t seen, struct superblock *super,
		    struct catalogue *ret, struct error *err)
{
	struct load load = { .source = source, .rings = rings, .seen = seen,
			     .places = calloc(LOAD_PLACES, sizeof(*load.places)) };
	uint64_t tried;
	int r;

	if (!load.places)
		return error_no_memory(err);
	do {
		for (uint32_t i = 0; load.total && i < LOAD_PLACES; i++)
			rings[i].is_read = false;
		tried = load.total;
		r = load_try(&load, super, ret, err);
	} while ((r == -EBADMSG || r == -ENOLINK) && load.total != tried);
	free(load.places);
	return r;
}

/* Finds the superblock of the first member that has one. The reason of a failure is the first member's. */
static int load_find_any(struct source *source, struct superblock_ring *rings, struct superblock *ret,
			 struct error *err)
{
	struct error why;
	int r;

	superblock_read_rings(source, 0, rings, LOAD_PLACES);
	r = superblock_of_ring(&rings[0], ret, &why);
	for (uint32_t i = 1; r < 0 && i < LOAD_PLACES; i++)
		if (rings[i].is_read && superblock_of_ring(&rings[i], ret, NULL) == 0)
			return 0;
	return r < 0 ? error_pass(err, r, &why) : 0;
}

int catalogue_load_shown(struct source *source, struct superblock_ring *rings, uint64_t seen,
			 struct superblock *ret_super, struct catalogue *ret, struct error *err)
{
	auto_free struct superblock_ring *own = rings ? NULL : calloc(LOAD_PLACES, sizeof(*own));
	struct superblock super;
	struct error why; /* perhaps of a copy although another one is good */
	int r;

	if (!rings && !own)
		return error_no_memory(err);
	rings = rings ? rings : own;
	r = load_find_any(source, rings, &super, &why);
	if (r == 0)
		r = super.feature_incompat & DSFS_INCOMPAT_MEMBERS ?
			    load_all(source, rings, seen, &super, ret, &why) :
			    load_one(source, &rings[0], &super, ret, &why);
	if (r < 0)
		return error_pass(err, r, &why);
	*ret_super = super;
	return 0;
}

int catalogue_load(struct source *source, struct superblock_ring *rings, struct superblock *ret_super,
		   struct catalogue *ret, struct error *err)
{
	return catalogue_load_shown(source, rings, UINT64_MAX, ret_super, ret, err);
}

int catalogue_load_newest(struct source *source, struct superblock *ret, struct error *err)
{
	auto_free struct superblock_ring *rings = calloc(LOAD_PLACES, sizeof(*rings));
	struct superblock newest, super;
	int r = rings ? load_find_any(source, rings, &newest, err) : error_no_memory(err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; newest.feature_incompat & DSFS_INCOMPAT_MEMBERS && i < LOAD_PLACES; i++)
		if (rings[i].is_read && superblock_of_ring(&rings[i], &super, NULL) == 0 &&
		    !memcmp(super.volume_uuid, newest.volume_uuid, sizeof(super.volume_uuid)) &&
		    super.sequence > newest.sequence)
			newest = super;
	*ret = newest;
	return 0;
}
