/* SPDX-License-Identifier: MIT */
/* Runs each step for all members before the next step begins. */
#include "volume/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "image/address.h"
#include "volume/commit.h"

/* --- opening --- */

static bool transaction_is_device(const struct transaction_member *member)
{
	return member->file->geometry.is_block_device;
}

/* The lock does not say who has it. */
static int transaction_refuse(struct site *site, const struct error *why, struct error *err)
{
	char who[HOLDER_TEXT_SIZE] = "";
	struct file_source *file;

	if (why->code == -EBUSY && file_open_site(site, FILE_READ, &file, NULL) == 0) {
		holder_read(&file->source, who);
		file_close(file);
	}
	return error_set(err, why->code, "%s%s%s", why->reason, who[0] ? ": " : "", who);
}

static int transaction_lock(struct transaction *transaction, struct site *site, enum file_mode mode, struct error *err)
{
	struct transaction_member *member = &transaction->members[transaction->member_count];
	struct error why = { 0 };

	if (file_open_site(site, mode, &member->file, &why) < 0)
		return transaction_refuse(site, &why, err);
	transaction->member_count++;
	member->source = &member->file->source;
	member->is_fresh = mode == FILE_CREATE;
	if (!transaction_is_device(member))
		member->former_size = source_size(member->source, 0);
	return 0;
}

static int transaction_raise_fence(const struct transaction *transaction, struct transaction_member *member,
				   struct site *site, bool preempt, struct error *err)
{
	char notice[FENCE_NOTICE_SIZE];
	struct error why = { 0 };

	if (fence_raise(member->file->fd, preempt, &member->fence, notice, &why) < 0)
		return transaction_refuse(site, &why, err);
	if (notice[0])
		log_warn("'%s': %s, ignoring", transaction->path, notice);
	return 0;
}

int transaction_open(const char *path, enum file_mode mode, struct site *sites, uint32_t count, bool preempt,
		     struct transaction *ret, struct error *err)
{
	struct transaction transaction = { .path = path };
	int r = 0;

	if (count > TRANSACTION_MEMBERS)
		return error_set(err, -EOPNOTSUPP, "%" PRIu32 " members, this release writes volumes of one", count);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = transaction_lock(&transaction, &sites[i], mode, err);
	for (uint32_t i = 0; r == 0 && mode == FILE_WRITE && i < count; i++)
		r = transaction_raise_fence(&transaction, &transaction.members[i], &sites[i], preempt, err);
	if (r < 0) {
		transaction_close(&transaction);
		return r;
	}
	for (uint32_t i = 0; i < count; i++)
		holder_read(transaction.members[i].source, transaction.members[i].former_holder);
	*ret = transaction;
	return 0;
}

struct file_source *transaction_swap_file(struct transaction *transaction, uint32_t number, struct file_source *fresh)
{
	struct transaction_member *member = &transaction->members[number];
	struct file_source *former = member->file;

	member->file = fresh;
	member->source = &fresh->source;
	member->is_fresh = true;
	member->former_size = 0;
	return former;
}

/* --- what is there --- */

static int transaction_open_space(struct transaction *transaction, struct error *err)
{
	space_close(&transaction->space);
	return space_open(&transaction->space, transaction->is_new ? NULL : &transaction->catalogue,
			  &transaction->super, transaction->super.segment_log, transaction->capacity, err);
}

int transaction_load(struct transaction *transaction, struct error *err)
{
	return catalogue_load(transaction_source(transaction), &transaction->super, &transaction->catalogue, err);
}

int transaction_check(struct transaction *transaction, struct error *err)
{
	const struct superblock *super = &transaction->super;
	struct error stale = { 0 };
	int r;

	r = catalogue_check_writable(super, &transaction->catalogue, err);
	if (r == 0)
		r = superblock_check_newest(transaction_source(transaction), 0, super->sequence, err);
	if (r < 0)
		return r;
	transaction->capacity = transaction_is_device(&transaction->members[0]) ? super->member_size : SPACE_ENDLESS;
	r = transaction_open_space(transaction, err);
	if (r == 0 && superblock_may_be_stale(super, &stale))
		log_warn("volume '%s': %s", transaction->path, stale.reason);
	return r;
}

int transaction_format(struct transaction *transaction, const struct superblock *super, uint64_t capacity,
		       struct error *err)
{
	transaction->is_new = true;
	transaction->capacity = capacity;
	transaction->super = *super;
	transaction->catalogue.next_sequence = 1;
	memcpy(transaction->catalogue.volume_uuid, super->volume_uuid, sizeof(super->volume_uuid));
	return transaction_open_space(transaction, err);
}

/* --- the change --- */

int transaction_begin(struct transaction *transaction, struct error *err)
{
	int r = 0;

	if (transaction->state != TRANSACTION_OPEN)
		return 0;
	transaction->state = TRANSACTION_BEGUN;
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		r = holder_write(transaction->members[i].source, err);
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		if (transaction->members[i].former_holder[0])
			log_warn("a publisher did not finish: %s, ignoring", transaction->members[i].former_holder);
	return r;
}

/* -EBUSY when another host has taken a member from us: nothing may be put in force any more. */
static int transaction_check_fences(const struct transaction *transaction, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		r = fence_check(&transaction->members[i].fence, err);
	return r;
}

/* A slot that is a hole of its file takes a block. Whether there is one shows here, where the change can still be
 * undone. */
static int transaction_reserve_slot(const struct transaction_member *member, uint64_t sequence, struct error *err)
{
	off_t at = (off_t)(sequence % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING);

	if (transaction_is_device(member) || fallocate(member->file->fd, FALLOC_FL_KEEP_SIZE, at, DSFS_BLOCK) == 0)
		return 0;
	if (errno == ENOSPC || errno == EDQUOT)
		return error_set(err, -errno, "volume is full: no room for a superblock slot");
	return 0; /* a filesystem that has nothing to reserve */
}

/* A file is as long as it is; a device keeps the size that it was formatted for. */
static uint64_t transaction_member_size(const struct transaction *transaction, const struct transaction_member *member)
{
	uint64_t size = transaction_is_device(member) ? transaction->capacity : source_size(member->source, 0);

	return round_down(size, DSFS_BLOCK);
}

/* Everything that a slot will name, on all members, and what can fail before it. */
static int transaction_prepare(struct transaction *transaction, struct superblock *super, struct error *err)
{
	int r = transaction_begin(transaction, err);

	if (r == 0)
		r = transaction_check_fences(transaction, err);
	if (r == 0)
		r = commit_catalogue(transaction_source(transaction), &transaction->space, &transaction->catalogue,
				     super, err);
	super->sequence++;
	super->member_size = transaction_member_size(transaction, &transaction->members[0]);
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		r = transaction_reserve_slot(&transaction->members[i], super->sequence, err);
	if (r == 0)
		r = interrupt_check(err);
	return r < 0 ? r : transaction_check_fences(transaction, err);
}

/* One member after the other: the first slot that is durable puts the change in force. */
static int transaction_write_slots(struct transaction *transaction, const struct superblock *super, struct error *err)
{
	int r = 0;

	transaction->state = TRANSACTION_ISSUED;
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++) {
		struct superblock slot = *super;

		slot.member = i;
		slot.member_size = transaction_member_size(transaction, &transaction->members[i]);
		r = commit_slot(transaction->members[i].source, &slot, err);
	}
	return r;
}

/* A slot whose write failed may have arrived, may arrive later, and a mount may have seen it. */
static int transaction_unsure(const struct transaction *transaction, const struct superblock *super,
			      const struct error *why, struct error *err)
{
	if (transaction->members[0].is_fresh)
		return error_pass(err, why->code, why);
	if (commit_check(transaction_source(transaction), super, NULL) == 0)
		return error_set(err, why->code, "%s; the change is in force, but a power loss may take it back",
				 why->reason);
	return error_set(err, why->code, "%s; the change may be in force or not, 'datasetfsctl list' shows which",
			 why->reason);
}

/* A fresh file that is not in force is removed, record and all. */
static void transaction_clear_holders(const struct transaction *transaction)
{
	struct error why = { 0 };

	for (uint32_t i = 0; i < transaction->member_count; i++) {
		const struct transaction_member *member = &transaction->members[i];
		bool stays = !member->is_fresh || transaction->state == TRANSACTION_DONE;

		if (stays && holder_clear(member->source, &why) < 0)
			log_warn("the publisher record of '%s' stays: %s, ignoring", transaction->path, why.reason);
	}
}

int transaction_commit(struct transaction *transaction, struct error *err)
{
	struct superblock super = transaction->super;
	struct error why = { 0 };
	int r;

	r = transaction_prepare(transaction, &super, err);
	if (r < 0)
		return r;
	r = transaction_write_slots(transaction, &super, &why);
	/* Twice, as a read may fail where a write did not. */
	if (r == 0 && commit_check(transaction_source(transaction), &super, NULL) < 0)
		r = commit_check(transaction_source(transaction), &super, &why);
	if (r < 0)
		return transaction_unsure(transaction, &super, &why, err);
	transaction->super = super;
	transaction->state = TRANSACTION_DONE;
	transaction_clear_holders(transaction);
	return 0;
}

/* --- undo --- */

/* Nothing in force refers to what lies behind the former end, and the lock keeps others from writing there. */
static int transaction_cut_back(const struct transaction *transaction, struct error *err)
{
	for (uint32_t i = 0; i < transaction->member_count; i++) {
		const struct transaction_member *member = &transaction->members[i];

		if (transaction_is_device(member) || member->is_fresh ||
		    source_size(member->source, 0) <= member->former_size)
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
	return r < 0 ? r : transaction_open_space(transaction, err);
}

/* Best effort: the failure that led here is the one to be told. */
static void transaction_undo(struct transaction *transaction)
{
	struct error why = { 0 };

	transaction_clear_holders(transaction);
	if (transaction_cut_back(transaction, &why) < 0)
		log_warn("%s, ignoring", why.reason);
	transaction->state = TRANSACTION_OPEN;
}

static void transaction_lower_fences(struct transaction *transaction)
{
	struct error why = { 0 };

	for (uint32_t i = 0; i < transaction->member_count; i++)
		if (fence_lower(&transaction->members[i].fence, &why) < 0)
			log_warn("cannot release the reservation of '%s': %s, ignoring", transaction->path,
				 why.reason);
}

void transaction_end(struct transaction *transaction)
{
	if (transaction->state == TRANSACTION_BEGUN)
		transaction_undo(transaction);
	transaction_lower_fences(transaction);
}

void transaction_close(struct transaction *transaction)
{
	transaction_end(transaction);
	space_close(&transaction->space);
	catalogue_free(&transaction->catalogue);
	for (uint32_t i = 0; i < transaction->member_count; i++)
		file_close(transaction->members[i].file);
	*transaction = (struct transaction){ 0 };
}
