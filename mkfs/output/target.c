/* SPDX-License-Identifier: MIT */
/* Opens all members before it decides anything about one of them. */
#include "output/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "assembly/assembly.h"
#include "assembly/naming.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"

#define TARGET_LEAST    (UINT64_C(2) << 20)  /* bytes of a single device: the ring and some data */
#define TARGET_LEAST_OF (UINT64_C(16) << 20) /* bytes of one of several: room for catalogues and some groups */
#define TARGET_SEGMENTS 64u                  /* fewest segments of a device, if they can be that small */

/* --- opening --- */

bool target_is_on_devices(const struct target *target)
{
	for (uint32_t i = 0; i < target->count; i++)
		if (target->media[i].path && !target->media[i].is_device)
			return false;
	return true;
}

int target_folder(const struct target *target)
{
	for (uint32_t i = 0; i < target->count; i++)
		if (target->media[i].site.folder >= 0)
			return target->media[i].site.folder;
	return -1;
}

bool target_holds(const struct target *target, uint64_t device, uint64_t inode)
{
	for (uint32_t i = 0; i < target->count; i++)
		if (target->media[i].inode == inode && target->media[i].device == device && !target->media[i].is_device)
			return true;
	return false;
}

static bool target_exists(const struct target *target)
{
	for (uint32_t i = 0; i < target->count; i++)
		if (target->media[i].site.file >= 0)
			return true;
	return false;
}

/* Refuses the last member that was found if it was named before. */
static int target_check_twice(const struct target *target, struct error *err)
{
	const struct medium *last = &target->media[target->count - 1];

	for (uint32_t i = 0; i + 1 < target->count; i++)
		if (medium_is_same(&target->media[i], last))
			return error_set(err, -EINVAL, "'%s' and '%s' are the same", target->media[i].path, last->path);
	return 0;
}

static int target_alloc(struct target *target, uint32_t count, struct error *err)
{
	target->media = calloc(count, sizeof(*target->media));
	return target->media ? 0 : error_no_memory(err);
}

static void target_forget(struct target *target)
{
	for (uint32_t i = 0; i < target->count; i++)
		medium_close(&target->media[i]);
	free(take_ptr(&target->media));
	target->count = 0;
}

/* Finds each member that the user named. */
static int target_find_named(struct target *target, const struct pack_options *options, struct error *err)
{
	char **names = NULL;
	uint32_t count = 0;
	int r = naming_split(options->volume, &names, &count, err);

	if (r == 0)
		r = target_alloc(target, count, err);
	while (r == 0 && target->count < count) {
		r = medium_find(names[target->count], options, &target->media[target->count], err);
		target->count += r == 0;
		if (r == 0)
			r = target_check_twice(target, err);
	}
	naming_free(names, count);
	return r;
}

/* Finds all members of a volume of several, in the order of their numbers, even if only some were named. Takes the
 * descriptors that the assembly opened. */
static int target_find_members(struct target *target, const struct pack_options *options, struct error *err)
{
	struct assembly assembly;
	int r = assembly_open(options->volume, FILE_WAITS, &assembly, err);

	if (r < 0)
		return r;
	r = target_alloc(target, assembly.count, err);
	while (r == 0 && target->count < assembly.count) {
		struct medium *medium = &target->media[target->count];
		const char *name = assembly.names[target->count];

		*medium = MEDIUM_MISSING;
		if (name)
			r = medium_again(name, assembly.array->fds[target->count], medium, err);
		target->count += r == 0;
	}
	assembly_close(&assembly);
	return r;
}

static bool target_has_member(const struct target *target)
{
	for (uint32_t i = 0; i < target->count; i++)
		if (medium_is_member(&target->media[i], target->count > 1 ? FILE_PATIENCE : FILE_WAITS))
			return true;
	return false;
}

static int target_find(struct target *target, const struct pack_options *options, struct error *err)
{
	bool by_uuid = naming_is_uuid(options->volume);
	int r = by_uuid ? 0 : target_find_named(target, options, err);

	if (r == 0 && (by_uuid || (!options->format && target_has_member(target)))) {
		target_forget(target);
		r = target_find_members(target, options, err);
	}
	for (uint32_t i = 0; r == 0 && i < target->count; i++)
		r = medium_admit(&target->media[i], options, err);
	return r;
}

/* Opens and locks all members, and finds out what each is. */
static int target_lock(struct target *target, const struct pack_options *options, struct error *err)
{
	auto_free struct site *sites = calloc(target->count, sizeof(*sites));
	struct transaction_setup setup = { .path = target->path, .sites = sites, .count = target->count,
					   .mode = options->dry_run ? FILE_READ : FILE_WRITE,
					   .leaving = TRANSACTION_ALL_STAY, .preempt = options->preempt };
	int r;

	if (!sites)
		return error_no_memory(err);
	for (uint32_t i = 0; i < target->count; i++)
		sites[i] = target->media[i].site;
	r = transaction_open(&setup, &target->transaction, err);
	for (uint32_t i = 0; r == 0 && i < target->count; i++) {
		if (!target->transaction.members[i].file)
			continue;
		target->media[i].site = sites[i]; /* its folder is known now */
		r = medium_know(&target->media[i], target->transaction.members[i].file, options->dry_run, err);
	}
	return r;
}

static int target_check_content(struct target *target, const struct pack_options *options, struct error *err)
{
	struct medium *medium;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < target->count; i++) {
		medium = &target->media[i];
		if (medium->site.file >= 0)
			r = medium_check_content(medium, target->transaction.members[i].former_holder, options->force,
						 err);
		if (r < 0 && target->count > 1)
			return error_wrap(err, r, "'%s'", medium->path);
	}
	return r;
}

/* Finds out whether every member holds a volume, in *ret_all. Refuses a mixture, which is a mistake in the names. */
static int target_is_volume(const struct target *target, const struct pack_options *options, bool *ret_all,
			    struct error *err)
{
	const struct medium *ours = NULL, *other = NULL;

	for (uint32_t i = 0; i < target->count; i++)
		if (target->media[i].path)
			*(target->media[i].is_ours ? &ours : &other) = &target->media[i];
	*ret_all = !other && !options->format;
	if (ours && other && !options->format)
		return error_set(err, -EEXIST,
				 "'%s' holds a volume and '%s' does not: name the members of one volume, or use "
				 "--format to make a new one of all", ours->path, other->path);
	return 0;
}

/* --- an existing volume --- */

static int target_check_new_options(const struct pack_options *options, struct error *err)
{
	if (options->has_uuid || options->segment_log)
		return error_set(err, -EINVAL, "it is a volume already: --%s needs a new one or --format",
				 options->has_uuid ? "uuid" : "segment-size");
	return 0;
}

static int target_check_copies(const struct pack_options *options, uint32_t members, struct error *err)
{
	if (options->copies > members)
		return error_set(err, -EINVAL, "--protect mirror:%" PRIu32 " needs %" PRIu32 " members, it has %"
				 PRIu32, options->copies, options->copies, members);
	return 0;
}

static int target_load(struct target *target, const struct pack_options *options, struct error *err)
{
	struct transaction *transaction = &target->transaction;
	struct error why = { 0 };
	int r;

	r = target_check_new_options(options, err);
	if (r < 0)
		return r;
	r = transaction_load(transaction, &why);
	if (r < 0)
		return error_set(err, r, "%s%s", why.reason,
				 r == -EBADMSG || r == -EOPNOTSUPP ? " (--format starts afresh)" : "");
	r = target_check_copies(options, transaction->super.member_count, err);
	if (r < 0)
		return r;
	transaction->copies = options->copies;
	transaction->degraded = options->degraded;
	for (uint32_t i = 0; i < target->count; i++)
		if (transaction->members[i].file)
			transaction_set_identity(transaction, i, target->media[i].identity,
						 target->media[i].domain);
	return transaction_check(transaction, err);
}

/* --- a new volume --- */

/* Chooses the size of segments: 16 MiB, less on a small device, so that it has enough of them. */
static uint32_t target_segment_log(const struct target *target, const struct pack_options *options)
{
	uint32_t log = PACK_SEGMENT_LOG;

	if (options->segment_log)
		return options->segment_log;
	for (uint32_t i = 0; i < target->transaction.member_count; i++)
		while (target->media[i].is_device && log > DSFS_SEGMENT_LOG_MIN &&
		       target->transaction.members[i].capacity >> log < TARGET_SEGMENTS)
			log--;
	return log;
}

static void target_mark_uuid(uint8_t uuid[16], uint8_t version)
{
	uuid[6] = (uuid[6] & 0x0f) | version;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static int target_make_uuid(uint8_t uuid[16], struct error *err)
{
	if (getrandom(uuid, 16, 0) < 0)
		return error_errno(err, "cannot get random bytes");
	target_mark_uuid(uuid, 0x40);
	return 0;
}

/* Derives a member's UUID from the volume's: a given UUID asks for reproducible bytes. */
static int target_derive_uuid(const uint8_t volume[16], uint32_t number, uint8_t uuid[16], struct error *err)
{
	uint8_t name[20], sum[SHA256_SIZE];
	dsfs_le32 encoded = dsfs_le32_of(number);
	int r;

	memcpy(name, volume, 16);
	memcpy(name + 16, &encoded, 4);
	r = sha256_of(name, sizeof(name), sum, err);
	memcpy(uuid, sum, 16);
	target_mark_uuid(uuid, 0x80); /* RFC 9562: version 8, the maker's own */
	return r;
}

static int target_name_members(const struct target *target, const struct pack_options *options,
			       const uint8_t volume[16], struct member *list, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < target->count; i++) {
		r = options->has_uuid ? target_derive_uuid(volume, i, list[i].uuid, err) :
					target_make_uuid(list[i].uuid, err);
		snprintf(list[i].identity, sizeof(list[i].identity), "%s", target->media[i].identity);
		snprintf(list[i].domain, sizeof(list[i].domain), "%s", target->media[i].domain);
	}
	return r;
}

static int target_measure(struct target *target, struct error *err)
{
	struct transaction *transaction = &target->transaction;
	uint64_t least = target->count > 1 ? TARGET_LEAST_OF : TARGET_LEAST;

	for (uint32_t i = 0; i < transaction->member_count; i++) {
		uint64_t capacity = target->media[i].is_device ? source_size(transaction->source, i) : SPACE_ENDLESS;

		if (capacity < least)
			return error_set(err, -ENOSPC, "'%s' has %" PRIu64 " bytes, a volume needs at least %" PRIu64,
					 target->media[i].path, capacity, least);
		transaction->members[i].capacity = capacity;
	}
	return 0;
}

static int target_format(struct target *target, const struct pack_options *options, struct error *err)
{
	auto_free struct member *list = calloc(target->count, sizeof(*list));
	bool has_members = target->transaction.member_count > 1;
	struct superblock super = { .member_count = 1 };
	int r;

	if (!list)
		return error_no_memory(err);
	r = target_check_copies(options, target->count, err);
	if (r == 0)
		r = target_measure(target, err);
	if (r < 0)
		return r;
	super.segment_log = target_segment_log(target, options);
	snprintf(super.identity, sizeof(super.identity), "%s", target->media[0].identity);
	if (options->has_uuid)
		memcpy(super.volume_uuid, options->uuid, sizeof(super.volume_uuid));
	else
		r = target_make_uuid(super.volume_uuid, err);
	if (r == 0 && has_members)
		r = target_name_members(target, options, super.volume_uuid, list, err);
	if (r < 0)
		return r;
	target->transaction.is_reproducible = options->has_uuid;
	target->transaction.copies = options->copies;
	return transaction_format(&target->transaction, &super, has_members ? list : NULL, err);
}

static int target_start_afresh(struct target *target, const struct pack_options *options, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < target->count; i++) {
		struct file_source *fresh = NULL;

		if (target->media[i].site.file >= 0)
			r = medium_start_afresh(&target->media[i], options->dry_run, &fresh, err);
		if (fresh) /* the former file keeps its lock */
			(void)transaction_swap_file(&target->transaction, i, fresh);
	}
	return r < 0 ? r : target_format(target, options, err);
}

static void target_warn_of_domains(const struct target *target)
{
	const char *domain = allocator_shared_domain(&target->transaction.allocator);

	if (domain)
		log_warn("copies of the same files lie in one NVMe subsystem, '%s', and may be lost together, ignoring",
			 domain);
}

static int target_open_path(struct target *target, const struct pack_options *options, struct error *err)
{
	bool is_volume = false;
	int r = target_find(target, options, err);

	if (r == 0 && options->dry_run && !target_exists(target))
		return target_format(target, options, err);
	if (r == 0)
		r = target_lock(target, options, err);
	if (r == 0)
		r = target_check_content(target, options, err);
	if (r == 0)
		r = target_is_volume(target, options, &is_volume, err);
	if (r < 0)
		return r;
	return is_volume ? target_load(target, options, err) : target_start_afresh(target, options, err);
}

int target_open(const struct pack_options *options, struct target *ret, struct error *err)
{
	int r;

	*ret = (struct target){ .path = options->volume };
	r = target_open_path(ret, options, err);
	if (r == 0) {
		target_warn_of_domains(ret);
		return 0;
	}
	target_close(ret);
	return r == -EINTR ? r : error_wrap(err, r, "volume '%s'", options->volume);
}

/* --- first write, end, and closing --- */

int target_begin(struct target *target, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && target->transaction.is_new && i < target->count; i++)
		r = medium_wipe(&target->media[i], target->transaction.members[i].capacity, err);
	return r < 0 ? r : transaction_begin(&target->transaction, err);
}

/* Replaces the former files one after the other. With the first the former volume is gone, so from then on the new
 * files stay even if a later step fails. */
static int target_replace_former(struct target *target, struct error *err)
{
	struct error why = { 0 };

	for (uint32_t i = 0; i < target->count; i++) {
		const struct medium *medium = &target->media[i];

		if (medium_replace_former(&target->media[i], &why) < 0 && !target->published)
			return error_pass(err, why.code, &why);
		if (why.code)
			return error_set(err, why.code,
					 "the version is published, but in place of '%s' it has '%s': %s",
					 medium->path, medium->successor.name, why.reason);
		target->published |= medium->former != NULL;
	}
	target->published = true;
	return 0;
}

int target_finish(struct target *target, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < target->count; i++)
		r = medium_name(&target->media[i], target->transaction.members[i].is_fresh, err);
	return r < 0 ? r : target_replace_former(target, err);
}

int target_protect(struct target *target, struct error *err)
{
	struct error why = { 0 };

	transaction_end(&target->transaction); /* a protected namespace takes no command about reservations either */
	for (uint32_t i = 0; i < target->count; i++) {
		target->media[i].unprotected = false;
		if (target->media[i].path && medium_set_protection(&target->media[i], true, &why) < 0)
			return error_set(err, why.code, "the version is published, but '%s' is not write-protected: %s",
					 target->media[i].path, why.reason);
	}
	return 0;
}

void target_close(struct target *target)
{
	const struct transaction *transaction = &target->transaction;

	for (uint32_t i = 0; i < transaction->member_count; i++)
		if (transaction->members[i].is_fresh && !target->published)
			medium_give_up(&target->media[i]);
	transaction_close(&target->transaction);
	target_forget(target);
	*target = (struct target){ 0 };
}

int target_open_temp(const struct target *target, const struct pack_options *options, struct temp **ret,
		     struct error *err)
{
	const char *variable = getenv("TMPDIR");

	if (options->temp_dir)
		return temp_open(options->temp_dir, ret, err);
	if (variable && *variable)
		return temp_open(variable, ret, err);
	if (target_folder(target) < 0)
		return temp_open("/var/tmp", ret, err);
	return temp_open_folder(target_folder(target), ret, err);
}
