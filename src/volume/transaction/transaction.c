/* SPDX-License-Identifier: MIT */
/* Runs each step for all members before the next step begins. */
#include "volume/transaction/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/program/interrupt.h"
#include "base/round.h"
#include "base/text/format.h"
#include "device/locker.h"
#include "device/nvme/protect.h"
#include "image/members/address.h"
#include "io/full.h"
#include "volume/transaction/commit.h"

/* --- opening --- */

static bool transaction_is_device(const struct transaction_member *member)
{
	return member->file->geometry.is_block_device;
}

static bool transaction_has(const struct transaction *transaction, uint32_t number)
{
	return number < transaction->member_count && transaction->members[number].file;
}

uint32_t transaction_first(const struct transaction *transaction)
{
	uint32_t first = 0;

	while (first < transaction->member_count && !transaction_has(transaction, first))
		first++;
	return first;
}

/* Finds who has the lock, which does not tell. The record counts only if its publisher has the lock: it may be that of
 * a killed one. */
static void transaction_find_holder(struct file_source *file, char who[HOLDER_TEXT_SIZE])
{
	if (file->geometry.is_block_device || file_use(file->fd) == FILE_USE_WRITTEN)
		holder_read(&file->source, 0, who);
	if (!who[0])
		(void)locker_find(file->fd, who);
}

static int transaction_refuse(struct site *site, const struct error *why, struct error *err)
{
	char who[HOLDER_TEXT_SIZE] = "";
	struct file_source *file;

	if (why->code == -EBUSY && file_open_site(site, FILE_READ, &file, NULL) == 0) {
		transaction_find_holder(file, who);
		file_close(file);
	}
	return error_set(err, why->code, "%s%s%s", why->reason, who[0] ? ": " : "", who);
}

static int transaction_lock(struct transaction_member *member, struct site *site, enum file_mode mode,
			    struct error *err)
{
	struct error why = { 0 };

	if (!site->path)
		return 0;
	if (site->file < 0)
		mode = FILE_CREATE;
	if (file_open_site(site, mode, &member->file, &why) < 0)
		return transaction_refuse(site, &why, err);
	if (mode == FILE_WRITE && protect_is_read_only(member->file->fd)) {
		file_close(take_ptr(&member->file));
		return error_set(err, -EROFS, "the device below its mapping is read-only or write-protected");
	}
	member->is_fresh = mode == FILE_CREATE;
	if (!transaction_is_device(member))
		member->former_size = source_size(&member->file->source, 0);
	return 0;
}

static int transaction_raise_fence(struct transaction_member *member, struct site *site, bool preempt,
				   struct error *err)
{
	char notice[FENCE_NOTICE_SIZE];
	struct error why = { 0 };

	if (!member->file || member->is_read_only)
		return 0;
	if (fence_raise(member->file->fd, preempt, &member->fence, notice, &why) < 0)
		return transaction_refuse(site, &why, err);
	if (notice[0])
		log_warn("'%s': %s, ignoring", site->path, notice);
	return 0;
}

static int transaction_alloc(struct transaction *transaction, uint32_t count, struct error *err)
{
	int r = array_new(count, &transaction->array, err);

	if (r < 0)
		return r;
	transaction->source = &transaction->array->source;
	transaction->members = calloc(count, sizeof(*transaction->members));
	if (!transaction->members)
		return error_no_memory(err);
	transaction->member_count = count;
	return 0;
}

/* Locks the member that is replaced: nothing is written to it, so it may be read-only. */
static int transaction_lock_leaving(struct transaction_member *member, struct site *site, struct error *err)
{
	struct error why = { 0 };
	int r = transaction_lock(member, site, FILE_WRITE, &why);

	if (r == -EROFS) {
		member->is_read_only = true;
		return transaction_lock(member, site, FILE_READ, err);
	}
	return r < 0 ? error_pass(err, r, &why) : 0;
}

/* Sets a time limit for reads. While the state in force is unknown, a silent member is missing; later a change needs
 * all members that it began with. */
static void transaction_set_patience(const struct transaction *transaction, int64_t patience)
{
	for (uint32_t i = 0; i < transaction->member_count; i++)
		if (transaction_has(transaction, i))
			transaction->members[i].file->patience = patience;
}

int transaction_open(const struct transaction_setup *setup, struct transaction *ret, struct error *err)
{
	struct transaction transaction = { .path = setup->path };
	struct site *sites = setup->sites;
	uint32_t count = setup->count;
	int r = transaction_alloc(&transaction, count, err);

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = i == setup->leaving ? transaction_lock_leaving(&transaction.members[i], &sites[i], err) :
					  transaction_lock(&transaction.members[i], &sites[i], setup->mode, err);
		(void)array_put(transaction.array, i, transaction.members[i].file);
	}
	transaction_set_patience(&transaction, count > 1 ? FILE_PATIENCE : FILE_WAITS);
	for (uint32_t i = 0; r == 0 && setup->mode == FILE_WRITE && i < count; i++)
		r = transaction_raise_fence(&transaction.members[i], &sites[i], setup->preempt, err);
	if (r < 0) {
		transaction_close(&transaction);
		return r;
	}
	for (uint32_t i = 0; i < count; i++)
		if (transaction_has(&transaction, i))
			holder_read(transaction.source, i, transaction.members[i].former_holder);
	*ret = transaction;
	return 0;
}

int transaction_open_member(const char *path, struct site *site, bool preempt, struct transaction_member *ret,
			    struct error *err)
{
	struct transaction_member member = { 0 };
	int r = transaction_lock(&member, site, FILE_WRITE, err);

	if (r == 0)
		r = transaction_raise_fence(&member, site, preempt, err);
	if (r < 0) {
		transaction_close_member(&member, path);
		return r;
	}
	*ret = member;
	return 0;
}

struct file_source *transaction_swap_file(struct transaction *transaction, uint32_t number, struct file_source *fresh)
{
	struct transaction_member *member = &transaction->members[number];

	member->file = fresh;
	member->is_fresh = true;
	member->former_size = 0;
	return array_put(transaction->array, number, fresh);
}

/* --- the state in force --- */

/* Returns the number of copies that was asked for, or that the last group has. */
static uint32_t transaction_copies(const struct transaction *transaction)
{
	const struct members *members = &transaction->catalogue.members;
	const struct member_group *last = NULL;

	for (uint32_t i = 0; i < members->group_count; i++)
		if (!last || members->groups[i].birth >= last->birth)
			last = &members->groups[i];
	if (transaction->copies || !last)
		return transaction->copies ? transaction->copies : 1;
	return 1u + last->redundant;
}

/* Returns a capacity, also of a missing member: it may be a file if others are. If it is a device, its size cannot be
 * checked: it counts as no larger than a device that is there. */
static uint64_t transaction_capacity(const struct transaction *transaction, uint32_t number)
{
	uint64_t size = transaction->catalogue.members.list[number].size, most = 0;

	if (transaction_has(transaction, number))
		return transaction->members[number].capacity;
	for (uint32_t i = 0; i < transaction->member_count; i++)
		if (transaction_has(transaction, i) && transaction->members[i].capacity > most)
			most = transaction->members[i].capacity;
	return most == SPACE_ENDLESS || size > most ? most : size;
}

static int transaction_open_lanes(struct transaction *transaction, struct error *err)
{
	struct members *members = &transaction->catalogue.members;
	auto_free struct allocator_member *list = calloc(members->count, sizeof(*list));

	if (!list)
		return error_no_memory(err);
	for (uint32_t i = 0; i < members->count; i++) {
		const struct superblock *super = &transaction->members[i].super;

		list[i].capacity = transaction_capacity(transaction, i);
		if (!transaction->is_new)
			list[i].catalogue = (struct extent){ address_offset(super->catalogue_address),
							     super->catalogue_length };
	}
	return allocator_open_members(&transaction->allocator, members, list, transaction_copies(transaction),
				      transaction->super.sequence + 1, err);
}

uint64_t transaction_grown(const struct transaction *transaction, uint32_t number)
{
	const struct transaction_member *member = &transaction->members[number];
	uint64_t size;

	if (!transaction_has(transaction, number) || !transaction_is_device(member))
		return 0;
	size = source_size(&member->file->source, 0);
	return size > member->capacity ? size - member->capacity : 0;
}

/* Adds up the sizes of the devices, and by how much they have grown, for the message of a full volume. */
static void transaction_measure(struct transaction *transaction)
{
	struct allocator *allocator = &transaction->allocator;

	for (uint32_t i = 0; i < transaction->member_count; i++) {
		if (!transaction_has(transaction, i) || !transaction_is_device(&transaction->members[i]))
			continue;
		allocator->total += transaction->members[i].capacity;
		allocator->grown += transaction_grown(transaction, i);
	}
}

static int transaction_open_space(struct transaction *transaction, struct error *err)
{
	uint64_t capacity = transaction->member_count ? transaction->members[0].capacity : SPACE_ENDLESS;
	int r;

	allocator_close(&transaction->allocator);
	if (transaction->catalogue.members.count)
		r = transaction_open_lanes(transaction, err);
	else
		r = allocator_open(&transaction->allocator, transaction->is_new ? NULL : &transaction->catalogue,
				   &transaction->super, transaction->super.segment_log, capacity, err);
	transaction_measure(transaction);
	return r;
}

static void transaction_lower_fence(struct transaction_member *member, const char *path)
{
	struct error why = { 0 };

	if (fence_lower(&member->fence, &why) < 0)
		log_warn("cannot release the reservation of '%s': %s, ignoring", path, why.reason);
}

void transaction_close_member(struct transaction_member *member, const char *path)
{
	transaction_lower_fence(member, path);
	file_close(member->file);
	*member = (struct transaction_member){ 0 };
}

/* Closes a member that this change leaves out, as it is stale or has a successor. */
static void transaction_leave(struct transaction *transaction, uint32_t number)
{
	struct transaction_member *member = &transaction->members[number];
	bool is_newcomer = member->is_newcomer;

	(void)array_put(transaction->array, number, NULL);
	transaction_close_member(member, transaction->path);
	member->is_newcomer = is_newcomer;
}

/* All tables of a transaction have a place for each member of the catalogue, and for newcomers. A device that an
 * interrupted 'member add' left, and that the catalogue in force lacks, has none. */
static int transaction_check_known(const struct transaction *transaction, struct error *err)
{
	uint32_t known = transaction->catalogue.members.count ? transaction->catalogue.members.count : 1;

	for (uint32_t i = known; i < transaction->member_count; i++)
		if (!transaction->members[i].is_newcomer)
			return error_set(err, -ESTALE, "the catalogue in force has %" PRIu32 " members and no number "
					 "%" PRIu32 ": 'datasetfsctl member add' was cut off; run it again, or name "
					 "the volume by another member", known, i);
	return 0;
}

int transaction_load(struct transaction *transaction, struct error *err)
{
	const struct members *members = &transaction->catalogue.members;
	struct superblock_ring *rings = calloc(SUPERBLOCK_RINGS, sizeof(*rings));
	int r;

	if (!rings)
		return error_no_memory(err);
	free(transaction->rings);
	transaction->rings = rings;
	r = catalogue_load(transaction->source, rings, &transaction->super, &transaction->catalogue, err);
	if (r == 0)
		r = transaction_check_known(transaction, err);
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++) {
		if (i < members->count && members->list[i].missing_from)
			transaction_leave(transaction, i);
		else
			r = superblock_of_ring(&rings[i], &transaction->members[i].super, err);
	}
	return r;
}

/* Whether an interrupted publisher has not reached this member with its last slot; see catalogue_load(). */
static bool transaction_is_behind(const struct transaction *transaction, uint32_t number)
{
	return transaction_has(transaction, number) &&
	       transaction->members[number].super.sequence < transaction->super.sequence;
}

/* Sets how much of a device is the volume's. The table counts: a member that is behind has the size of before, although
 * the state in force may have grown. */
static int transaction_set_capacity(struct transaction *transaction, uint32_t number, struct error *err)
{
	const struct members *members = &transaction->catalogue.members;
	struct transaction_member *member = &transaction->members[number];
	uint64_t size = source_size(&member->file->source, 0);

	member->capacity = SPACE_ENDLESS;
	if (!transaction_is_device(member))
		return 0;
	member->capacity = members->count ? members_size(members, number) : member->super.member_size;
	if (size >= member->capacity || member->is_newcomer)
		return 0;
	return error_set(err, -EBADMSG, "member %" PRIu32 " is truncated: %" PRIu64 " bytes, expected %" PRIu64, number,
			 size, member->capacity);
}

static int transaction_check_member(struct transaction *transaction, uint32_t number, struct error *err)
{
	struct transaction_member *member = &transaction->members[number];
	struct error stale = { 0 };
	bool is_behind = transaction_is_behind(transaction, number);
	uint64_t newest = is_behind ? member->super.sequence : transaction->super.sequence;
	int r = 0;

	if (!member->file)
		return 0;
	if (!member->is_newcomer)
		r = superblock_check_newest(&transaction->rings[number], newest, err);
	if (r == 0)
		r = transaction_set_capacity(transaction, number, err);
	if (r == 0 && superblock_may_be_stale(&member->super, &stale))
		log_warn("volume '%s': %s", transaction->path, stale.reason);
	return r;
}

static void transaction_find_missing(const struct transaction *transaction, bool is_missing[DSFS_MEMBER_MAX + 1])
{
	for (uint32_t i = 0; i < transaction->catalogue.members.count; i++)
		is_missing[i] = !transaction->members[i].file && !transaction->members[i].is_newcomer;
}

static void transaction_tell_left_behind(const struct transaction *transaction, uint32_t number)
{
	const struct member *member = &transaction->catalogue.members.list[number];
	char uuid[UUID_TEXT_SIZE];

	if (!transaction->members[number].is_left_behind)
		return;
	format_uuid(member->uuid, uuid);
	log_warn("volume '%s': member %" PRIu32 " (%s%s%s) is missing and becomes stale by this change; 'datasetfsctl "
		 "member replace' brings it back", transaction->path, number, member->identity,
		 member->identity[0] ? " " : "", uuid);
}

static int transaction_check_missing(const struct transaction *transaction, struct error *err)
{
	const struct members *members = &transaction->catalogue.members;
	bool is_missing[DSFS_MEMBER_MAX + 1] = { 0 };
	int r;

	transaction_find_missing(transaction, is_missing);
	r = degraded_check(members, is_missing, transaction->degraded, err);
	if (r < 0 || transaction->degraded == DEGRADED_REPAIR)
		return r;
	if (transaction->degraded)
		r = degraded_check_paths(members, is_missing, err);
	for (uint32_t i = 0; r == 0 && i < members->count; i++)
		transaction->members[i].is_left_behind = degraded_is_new(members, is_missing, i);
	return r;
}

static void transaction_enter_missing(struct transaction *transaction)
{
	bool is_missing[DSFS_MEMBER_MAX + 1] = { 0 };

	transaction_find_missing(transaction, is_missing);
	degraded_enter(&transaction->catalogue, is_missing, &transaction->super);
}

int transaction_check(struct transaction *transaction, struct error *err)
{
	int r = catalogue_check_writable(&transaction->super, &transaction->catalogue, err);

	if (r == 0)
		r = transaction_check_missing(transaction, err);
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		r = transaction_check_member(transaction, i, err);
	if (r < 0)
		return r;
	transaction_set_patience(transaction, 0);
	transaction_enter_missing(transaction);
	return transaction_open_space(transaction, err);
}

void transaction_set_identity(struct transaction *transaction, uint32_t number, const char *identity,
			      const char *domain)
{
	struct members *members = &transaction->catalogue.members;
	struct superblock *super = &transaction->members[number].super;

	snprintf(super->identity, sizeof(super->identity), "%s", identity);
	if (number >= members->count)
		return;
	snprintf(members->list[number].identity, sizeof(members->list[number].identity), "%s", identity);
	snprintf(members->list[number].domain, sizeof(members->list[number].domain), "%s", domain);
}

static int transaction_enter_members(struct transaction *transaction, const struct member *list, struct error *err)
{
	struct members *members = &transaction->catalogue.members;

	transaction->super.feature_incompat |= DSFS_INCOMPAT_MEMBERS;
	members->list = calloc(transaction->member_count, sizeof(*list));
	if (!members->list)
		return error_no_memory(err);
	memcpy(members->list, list, transaction->member_count * sizeof(*list));
	members->count = transaction->member_count;
	members->segment_log = transaction->super.segment_log;
	return 0;
}

int transaction_format(struct transaction *transaction, const struct superblock *super, const struct member *list,
		       struct error *err)
{
	int r = 0;

	transaction->is_new = true;
	transaction_set_patience(transaction, 0);
	transaction->super = *super;
	transaction->super.member_count = transaction->member_count ? transaction->member_count : 1;
	transaction->catalogue.next_sequence = 1;
	memcpy(transaction->catalogue.volume_uuid, super->volume_uuid, sizeof(super->volume_uuid));
	if (list)
		r = transaction_enter_members(transaction, list, err);
	for (uint32_t i = 0; i < transaction->member_count; i++) {
		struct superblock *own = &transaction->members[i].super;

		*own = transaction->super;
		own->member = i;
		if (list) {
			memcpy(own->member_uuid, list[i].uuid, sizeof(own->member_uuid));
			memcpy(own->identity, list[i].identity, sizeof(own->identity));
		}
	}
	return r < 0 ? r : transaction_open_space(transaction, err);
}

void transaction_await(struct transaction *transaction, uint32_t number)
{
	transaction->members[number].is_newcomer = true;
}

static void transaction_enter_newcomer(struct transaction *transaction, uint32_t number)
{
	const struct superblock *super = &transaction->members[number].super;
	struct member *entry = &transaction->catalogue.members.list[number];

	memcpy(entry->uuid, super->member_uuid, sizeof(entry->uuid));
	memcpy(entry->identity, super->identity, sizeof(entry->identity));
	entry->state = DSFS_MEMBER_IN_USE;
	entry->stale_sequence = entry->missing_from = 0;
	memset(entry->stale_sha256, 0, sizeof(entry->stale_sha256));
}

static int transaction_seat(struct transaction *transaction, uint32_t number,
			    const struct transaction_member *newcomer, struct error *err)
{
	transaction->members[number] = *newcomer;
	transaction->members[number].is_newcomer = true;
	(void)array_put(transaction->array, number, newcomer->file);
	transaction_enter_newcomer(transaction, number);
	return transaction_open_space(transaction, err);
}

int transaction_replace(struct transaction *transaction, uint32_t number, const struct transaction_member *newcomer,
			struct error *err)
{
	if (transaction_has(transaction, number))
		transaction_leave(transaction, number);
	return transaction_seat(transaction, number, newcomer, err);
}

int transaction_add(struct transaction *transaction, const struct transaction_member *newcomer, struct error *err)
{
	struct members *members = &transaction->catalogue.members;
	uint32_t number = transaction->member_count;
	int r = array_add(transaction->array, err);

	if (r == 0)
		r = grow_one(transaction->members, number, err);
	if (r == 0)
		r = grow_one(members->list, number, err);
	if (r < 0) {
		struct transaction_member taken = *newcomer;

		transaction_close_member(&taken, transaction->path);
		return r;
	}
	members->list[number] = (struct member){ .size = newcomer->super.member_size };
	members->count = transaction->member_count = transaction->super.member_count = number + 1;
	r = transaction_seat(transaction, number, newcomer, err);
	for (uint32_t i = 0; i <= number; i++)
		transaction->members[i].super.member_count = members->count;
	return r;
}

/* --- the change --- */

/* Makes the slot for a member that is behind. The place that its catalogue was meant to have is still free. */
static int transaction_place_slot(struct transaction *transaction, uint32_t number, struct superblock *ret,
				  struct error *err)
{
	struct transaction_member *member = &transaction->members[number];
	uint64_t offset, length = transaction->super.catalogue_length;

	*ret = transaction->super;
	ret->member = number;
	ret->member_size = members_size(&transaction->catalogue.members, number);
	memcpy(ret->member_uuid, member->super.member_uuid, sizeof(ret->member_uuid));
	memcpy(ret->identity, member->super.identity, sizeof(ret->identity));
	if (!allocator_take_catalogue(&transaction->allocator, number, length, &offset) ||
	    offset + length > ret->member_size)
		return error_set(err, -ENOSPC, "no room on member %" PRIu32 " for the catalogue that is in force",
				 number);
	ret->catalogue_address = address_make(number, offset);
	if (member->former_size < offset + length)
		member->former_size = offset + length;
	return 0;
}

/* Brings members that are behind up to date. Another interruption would leave them two steps behind, which is as good
 * as missing; and they still name space that the state in force has given up. */
static int transaction_catch_up(struct transaction *transaction, struct error *err)
{
	auto_free struct superblock *slots = calloc(transaction->member_count, sizeof(*slots));
	uint32_t count = 0;
	int r = slots ? 0 : error_no_memory(err);

	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		if (transaction_is_behind(transaction, i) && !transaction->members[i].is_newcomer)
			r = transaction_place_slot(transaction, i, &slots[count++], err);
	if (r == 0 && count)
		r = commit_repeat(&(struct commit){ transaction->source, &transaction->super, slots, count }, err);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		uint32_t member = slots[i].member;
		struct extent catalogue = { address_offset(slots[i].catalogue_address), slots[i].catalogue_length };

		transaction->members[member].super = slots[i];
		allocator_keep_catalogue(&transaction->allocator, member, catalogue);
	}
	return r;
}

int transaction_begin(struct transaction *transaction, struct error *err)
{
	int r = 0;

	if (transaction->state != TRANSACTION_OPEN)
		return 0;
	transaction->state = TRANSACTION_BEGUN;
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		if (transaction_has(transaction, i) && !transaction->members[i].is_newcomer)
			r = holder_write(transaction->source, i, err);
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		if (transaction->members[i].former_holder[0])
			log_warn("a publisher did not finish: %s, ignoring", transaction->members[i].former_holder);
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		transaction_tell_left_behind(transaction, i);
	return r < 0 ? r : transaction_catch_up(transaction, err);
}

int transaction_grow(struct transaction *transaction, uint32_t number, struct error *err)
{
	transaction->members[number].capacity += transaction_grown(transaction, number);
	return transaction_open_space(transaction, err);
}

/* Checks that we still have all fences; -EBUSY: another host has taken a member, and nothing may be put in force. */
static int transaction_check_fences(const struct transaction *transaction, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		r = fence_check(&transaction->members[i].fence, err);
	return r;
}

/* Allocates the block of a slot that is a hole of its file: the lack of one must show while the change can be
 * undone. */
static int transaction_reserve_slot(const struct transaction_member *member, uint64_t sequence, struct error *err)
{
	off_t at = (off_t)(sequence % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING);
	char full[FULL_TEXT_SIZE];

	if (transaction_is_device(member) || fallocate(member->file->fd, FALLOC_FL_KEEP_SIZE, at, DSFS_BLOCK) == 0)
		return 0;
	if (full_is(errno)) {
		int code = errno;

		full_describe(member->file->fd, code, full);
		return error_set(err, -code, "%s: no room for a superblock slot", full);
	}
	return 0; /* the filesystem cannot reserve */
}

/* Returns the size for the slot: a file's present length, of a device what the volume uses. */
static uint64_t transaction_member_size(const struct transaction *transaction, uint32_t number)
{
	const struct transaction_member *member = &transaction->members[number];
	uint64_t size = transaction_is_device(member) ? member->capacity : source_size(transaction->source, number);

	return round_down(size, DSFS_BLOCK);
}

uint64_t transaction_end_of(const struct transaction *transaction, uint32_t member)
{
	uint64_t end = allocator_end(&transaction->allocator, member);
	uint64_t size = transaction->member_count ? transaction->members[member].super.member_size : 0;

	return end < size ? size : end; /* shared bytes may lie anywhere */
}

/* Makes the hash of each catalogue different, even if nothing else differs. */
static int transaction_make_nonce(struct transaction *transaction, struct error *err)
{
	struct members *members = &transaction->catalogue.members;

	members->nonce = 0;
	if (members->count && !transaction->is_reproducible &&
	    getrandom(&members->nonce, sizeof(members->nonce), 0) < 0)
		return error_errno(err, "cannot get random bytes");
	return 0;
}

/* Plans the slots of members that are there, and returns how many. A new member comes first: it lacks nothing, and as
 * long as no other one names it, the volume is the one without it. */
static uint32_t transaction_plan_slots(const struct transaction *transaction, struct superblock *slots)
{
	uint32_t count = 0;

	for (unsigned old = 0; old < 2; old++)
		for (uint32_t i = 0; i < transaction->member_count; i++) {
			if (!transaction_has(transaction, i) || transaction->members[i].is_newcomer == old)
				continue;
			slots[count] = transaction->members[i].super;
			slots[count++].member_size = transaction_member_size(transaction, i);
		}
	return count;
}

/* Does all that can fail before the slots: writes everything that they will name, on all members. */
static int transaction_prepare(struct transaction *transaction, struct superblock *slots, uint32_t *ret_count,
			       struct error *err)
{
	struct commit commit = { transaction->source, &transaction->super, slots, 0 };
	uint64_t sequence = transaction->super.sequence + 1;
	uint32_t count;
	int r = transaction_begin(transaction, err);

	if (r == 0)
		r = transaction_check_fences(transaction, err);
	if (r == 0)
		r = transaction_make_nonce(transaction, err);
	if (r < 0)
		return r;
	*ret_count = commit.count = count = transaction_plan_slots(transaction, slots);
	r = commit_catalogue(&commit, &transaction->allocator, &transaction->catalogue, err);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		slots[i].sequence = sequence;
		r = transaction_reserve_slot(&transaction->members[slots[i].member], sequence, err);
	}
	if (r == 0)
		r = interrupt_check(err);
	return r < 0 ? r : transaction_check_fences(transaction, err);
}

/* The members that a change has reached or not, as far as is known. */
struct transaction_reach {
	uint32_t reached, missed;
	char names[128];
	struct error why; /* of the first member that was missed */
};

static void transaction_miss(struct transaction_reach *reach, uint32_t member, const struct error *why)
{
	size_t used = strlen(reach->names);

	if (!reach->missed++)
		reach->why = *why;
	snprintf(reach->names + used, sizeof(reach->names) - used, "%s%" PRIu32, used ? ", " : "", member);
}

/* Checks a slot twice, as a read may fail where the write did not. */
static int transaction_check_slot(const struct transaction *transaction, const struct superblock *slot,
				  struct error *err)
{
	return commit_check(transaction->source, slot, NULL) < 0 ? commit_check(transaction->source, slot, err) : 0;
}

/* Writes the slots one after the other. The first durable one puts the change in force, so a failure must not keep it
 * from the others. */
static void transaction_write_slots(struct transaction *transaction, const struct superblock *slots, uint32_t count,
				    struct transaction_reach *reach)
{
	bool failed[DSFS_MEMBER_MAX + 1] = { 0 };
	struct error why = { 0 };

	transaction->state = TRANSACTION_ISSUED;
	for (uint32_t i = 0; i < count; i++) {
		failed[i] = commit_slot(transaction->source, &slots[i], &why) < 0;
		if (failed[i])
			transaction_miss(reach, slots[i].member, &why);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (failed[i])
			continue;
		if (transaction_check_slot(transaction, &slots[i], &why) < 0)
			transaction_miss(reach, slots[i].member, &why);
		else
			reach->reached++;
	}
}

static bool transaction_is_anywhere(const struct transaction *transaction, const struct superblock *slots,
				    uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (commit_check(transaction->source, &slots[i], NULL) == 0)
			return true;
	return false;
}

/* Explains failed slots: each may have arrived, may arrive later, and a mount may have seen it. */
static int transaction_unsure(const struct transaction *transaction, const struct superblock *slots, uint32_t count,
			      const struct transaction_reach *reach, struct error *err)
{
	const struct error *why = &reach->why;

	if (transaction->members[slots[0].member].is_fresh)
		return error_pass(err, why->code, why);
	if (reach->reached)
		return error_set(err, why->code,
				 "%s; published, degraded: the change is in force, but perhaps not on member%s %s",
				 why->reason, reach->missed > 1 ? "s" : "", reach->names);
	if (transaction_is_anywhere(transaction, slots, count))
		return error_set(err, why->code, "%s; the change is in force, but a power loss may take it back",
				 why->reason);
	return error_set(err, why->code, "%s; the change may be in force or not, 'datasetfsctl list' shows which",
			 why->reason);
}

/* Clears publisher records; fresh files that are not in force are removed, and new members have none. */
static void transaction_clear_holders(const struct transaction *transaction)
{
	struct error why = { 0 };

	for (uint32_t i = 0; i < transaction->member_count; i++) {
		const struct transaction_member *member = &transaction->members[i];
		bool stays = (!member->is_fresh && !member->is_newcomer) || transaction->state == TRANSACTION_DONE;

		if (stays && member->file && holder_clear(transaction->source, i, &why) < 0)
			log_warn("the publisher record of '%s' stays: %s, ignoring", transaction->path, why.reason);
	}
}

static int transaction_put_in_force(struct transaction *transaction, struct superblock *slots, struct error *err)
{
	struct transaction_reach reach = { 0 };
	uint32_t count = 0;
	int r = transaction_prepare(transaction, slots, &count, err);

	if (r < 0)
		return r;
	transaction_write_slots(transaction, slots, count, &reach);
	if (reach.missed)
		return transaction_unsure(transaction, slots, count, &reach, err);
	for (uint32_t i = 0; i < count; i++)
		transaction->members[slots[i].member].super = slots[i];
	transaction->super = slots[0];
	transaction->state = TRANSACTION_DONE;
	transaction_clear_holders(transaction);
	return 0;
}

int transaction_commit(struct transaction *transaction, struct error *err)
{
	auto_free struct superblock *slots = calloc(transaction->member_count, sizeof(*slots));

	return slots ? transaction_put_in_force(transaction, slots, err) : error_no_memory(err);
}

/* --- undo --- */

/* Truncates files to their former size: nothing in force lies behind, and the lock keeps others out. */
static int transaction_cut_back(const struct transaction *transaction, struct error *err)
{
	for (uint32_t i = 0; i < transaction->member_count; i++) {
		const struct transaction_member *member = &transaction->members[i];

		if (!member->file || transaction_is_device(member) || member->is_fresh ||
		    source_size(transaction->source, i) <= member->former_size)
			continue;
		if (ftruncate(member->file->fd, (off_t)member->former_size) < 0)
			return error_errno(err, "cannot truncate '%s' to %" PRIu64 " bytes", transaction->path,
					   member->former_size);
	}
	return 0;
}

bool transaction_can_restart(const struct transaction *transaction)
{
	return transaction->state < TRANSACTION_ISSUED;
}

int transaction_restart(struct transaction *transaction, struct error *err)
{
	int r = transaction_cut_back(transaction, err);

	if (r < 0)
		return r;
	catalogue_free(&transaction->catalogue);
	r = transaction_load(transaction, err);
	if (r < 0)
		return r;
	transaction_enter_missing(transaction);
	return transaction_open_space(transaction, err);
}

/* Undoes the change and only logs failures: the first failure is the one to report. */
static void transaction_undo(struct transaction *transaction)
{
	struct error why = { 0 };

	transaction_clear_holders(transaction);
	if (transaction_cut_back(transaction, &why) < 0)
		log_warn("%s, ignoring", why.reason);
	transaction->state = TRANSACTION_OPEN;
}

void transaction_end(struct transaction *transaction)
{
	if (transaction->state == TRANSACTION_BEGUN)
		transaction_undo(transaction);
	for (uint32_t i = 0; i < transaction->member_count; i++)
		transaction_lower_fence(&transaction->members[i], transaction->path);
}

void transaction_close(struct transaction *transaction)
{
	transaction_end(transaction);
	allocator_close(&transaction->allocator);
	catalogue_free(&transaction->catalogue);
	free(transaction->members);
	free(transaction->rings);
	array_close(transaction->array);
	*transaction = (struct transaction){ 0 };
}
