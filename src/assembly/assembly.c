/* SPDX-License-Identifier: MIT */
/* Gathers candidates, decides which are members, and puts each into its slot.
 *
 * Candidates that the user named count. A candidate that a scan found counts if the table of one that counts lists
 * its UUID on its present namespace: no device becomes a member, or decides which state is the newest, on its own word.
 * If the user gave only the volume's UUID, the candidate that most others list is the first that counts. */
#include "assembly/assembly.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assembly/candidate.h"
#include "assembly/naming.h"
#include "assembly/scan.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/program/interrupt.h"
#include "base/text/format.h"
#include "image/catalogue/catalogue.h"
#include "io/site.h"

#define SEARCH_AT_ONCE 32u /* files or devices of a scan that are asked at the same time */

struct search {
	uint8_t uuid[16]; /* of the volume */
	int64_t alone; /* ns until a device that is named alone and does not answer counts as missing */
	struct topology topology;
	struct candidate *items;
	uint32_t count, read; /* candidates, and how many of them were read */
	char silent[256];     /* missing members may be these: "'a' does not answer" */
};

void assembly_close(struct assembly *assembly)
{
	naming_free(assembly->names, assembly->count);
	naming_free(assembly->whys, assembly->count);
	array_close(assembly->array);
	free(assembly->rings);
	*assembly = (struct assembly){ 0 };
}

static void search_close(struct search *search)
{
	for (uint32_t i = 0; i < search->count; i++)
		candidate_close(&search->items[i]);
	free(search->items);
	topology_free(&search->topology);
}

/* Adds the candidate, and takes its contents, also on failure. */
static int search_add(struct search *search, struct candidate *candidate, struct error *err)
{
	int r = grow_one(search->items, search->count, err);

	if (r < 0)
		candidate_close(candidate);
	else
		search->items[search->count++] = *candidate;
	return r;
}

/* --- candidates --- */

static int search_add_named(struct search *search, const char *name, bool is_alone, struct error *err)
{
	struct candidate candidate;
	int r = candidate_open(name, NULL, is_alone ? search->alone : FILE_PATIENCE, &candidate, err);

	if (r < 0)
		return r;
	candidate.is_named = candidate.counts = true;
	return search_add(search, &candidate, err);
}

static void search_note(struct search *search, const struct candidate *candidate)
{
	size_t used = strlen(search->silent);

	if (candidate->is_silent)
		snprintf(search->silent + used, sizeof(search->silent) - used, "%s'%s' does not answer",
			 used ? ", " : "", candidate->name);
}

/* Reads the named candidates. All were asked before, so their answers are waited for together. */
static int search_read_named(struct search *search, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < search->count; i++) {
		struct candidate *candidate = &search->items[i];

		r = candidate_read(candidate, err);
		if (r < 0)
			break;
		search_note(search, candidate);
		candidate_look(candidate);
		if (candidate_has_members(candidate)) /* other members may have its bytes from now on */
			candidate->file->patience = FILE_PATIENCE;
	}
	return r;
}

/* Reads what a scan found, and keeps only candidates of the volume. */
static int search_read_found(struct search *search, struct error *err)
{
	uint32_t kept = search->read;
	int r = 0;

	for (uint32_t i = search->read; i < search->count; i++) {
		struct candidate *candidate = &search->items[i];

		if (r == 0)
			r = candidate_read(candidate, err);
		search_note(search, candidate);
		if (r < 0 || !candidate->super.sequence ||
		    memcmp(candidate->super.volume_uuid, search->uuid, sizeof(search->uuid)) != 0) {
			candidate_close(candidate);
			continue;
		}
		candidate_look(candidate);
		search->items[kept++] = *candidate;
	}
	search->count = search->read = kept;
	return r;
}

/* Whether it is a namespace without a live path: the kernel would hold a read of it, perhaps for minutes. */
static bool search_is_unreachable(const struct search *search, const struct stat *st)
{
	const struct topology_namespace *namespace =
		topology_by_device(&search->topology, topology_whole(topology_root(), st->st_rdev));
	size_t live;

	return namespace && topology_paths_of(&search->topology, namespace, &live) > 0 && live == 0;
}

static int search_try(void *argument, const char *path, struct error *err)
{
	struct search *search = argument;
	struct error why = { 0 };
	struct candidate candidate;
	struct stat st;
	int r;

	if (interrupt_check(err) < 0)
		return -EINTR;
	if (stat(path, &st) < 0)
		return 0;
	for (uint32_t i = 0; i < search->count; i++)
		if (site_is_same(&search->items[i].st, &st))
			return 0;
	if (S_ISBLK(st.st_mode) && search_is_unreachable(search, &st))
		return 0;
	r = candidate_open(path, &search->topology, FILE_PATIENCE, &candidate, &why);
	if (r < 0)
		return error_is_shortage(r) ? error_set(err, r, "'%s': %s", path, why.reason) : 0;
	r = search_add(search, &candidate, err);
	return r == 0 && search->count - search->read == SEARCH_AT_ONCE ? search_read_found(search, err) : r;
}

static int search_devices(struct search *search, struct error *err)
{
	int r = topology_read(topology_root(), &search->topology, err);

	if (r == 0)
		r = scan_devices(topology_root(), search_try, search, err);
	return r < 0 ? r : search_read_found(search, err);
}

/* Scans the folder of a file, or all devices. */
static int search_scan(struct search *search, struct error *err)
{
	const struct candidate *named = &search->items[0];
	auto_free char *path = NULL;
	int r;

	memcpy(search->uuid, named->super.volume_uuid, sizeof(search->uuid));
	if (S_ISBLK(named->st.st_mode))
		return search_devices(search, err);
	path = realpath(named->name, NULL);
	r = path ? scan_folder(path, search_try, search, err) : error_errno(err, "'%s'", named->name);
	return r < 0 ? r : search_read_found(search, err);
}

/* --- counting --- */

static uint32_t search_known(const struct search *search, const struct candidate *candidate)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < search->count; i++)
		known += candidate_is_known_to(candidate, &search->items[i]);
	return known;
}

/* Chooses the first one that counts, when none that counts has a valid table. */
static int search_anchor(struct search *search, struct error *err)
{
	struct candidate *best = NULL, *rival = NULL, *candidate;

	for (uint32_t i = 0; i < search->count; i++) {
		candidate = &search->items[i];
		if (!candidate->table.count)
			continue;
		if (!best || search_known(search, candidate) > search_known(search, best)) {
			best = candidate;
			rival = NULL;
		} else if (search_known(search, candidate) == search_known(search, best) &&
			   !candidate_is_known_to(candidate, best)) {
			rival = candidate;
		}
	}
	if (rival)
		return error_set(err, -ENOTUNIQ, "'%s' and '%s' say that they are of this volume, and do not know each "
				 "other: name its members", best->name, rival->name);
	if (best)
		best->counts = true;
	return 0;
}

static bool search_has_table(const struct search *search)
{
	for (uint32_t i = 0; i < search->count; i++)
		if (search->items[i].counts && search->items[i].table.count)
			return true;
	return false;
}

static bool search_is_known(const struct search *search, const struct candidate *candidate)
{
	for (uint32_t i = 0; i < search->count; i++)
		if (search->items[i].counts && candidate_is_known_to(candidate, &search->items[i]))
			return true;
	return false;
}

static int search_spread(struct search *search, struct error *err)
{
	bool has_grown = true;
	int r = search_has_table(search) ? 0 : search_anchor(search, err);

	while (r == 0 && has_grown) {
		has_grown = false;
		for (uint32_t i = 0; i < search->count; i++)
			if (!search->items[i].counts && search_is_known(search, &search->items[i]))
				search->items[i].counts = has_grown = true;
	}
	return r;
}

/* Returns the newest table of the candidates that count; NULL: there is none. */
static const struct members *search_table(const struct search *search, uint64_t *ret_sequence)
{
	const struct candidate *newest = NULL;

	for (uint32_t i = 0; i < search->count; i++) {
		const struct candidate *candidate = &search->items[i];

		if (candidate->counts && candidate->table.count &&
		    (!newest || candidate->super.sequence > newest->super.sequence))
			newest = candidate;
	}
	if (newest)
		*ret_sequence = newest->super.sequence;
	return newest ? &newest->table : NULL;
}

/* --- slots --- */

static int assembly_refuse(const struct candidate *candidate, const struct error *why, struct error *err)
{
	error_pass(err, why->code, why);
	return error_wrap(err, why->code, "'%s'", candidate->name);
}

static int assembly_refuse_twice(const struct candidate *a, const struct candidate *b, uint32_t slot,
				 struct error *err)
{
	char uuid[UUID_TEXT_SIZE], holder[64];
	bool is_held = S_ISBLK(a->st.st_mode) && scan_holder(topology_root(), a->st.st_rdev, holder, sizeof(holder));

	format_uuid(a->super.member_uuid, uuid);
	return error_set(err, -ENOTUNIQ,
			 "'%s' and '%s' are both member %" PRIu32 " (%s): two paths to one device, or a copy%s%s%s",
			 a->name, b->name, slot, uuid, is_held ? "; use '" : "", is_held ? holder : "",
			 is_held ? "', which is made of them" : "");
}

/* Puts a candidate into its slot. by_slot: the candidates that have one. */
static int assembly_put(struct assembly *assembly, struct candidate *candidate, uint32_t slot,
			struct candidate **by_slot, struct error *err)
{
	if (by_slot[slot])
		return assembly_refuse_twice(by_slot[slot], candidate, slot, err);
	by_slot[slot] = candidate;
	assembly->names[slot] = strdup(candidate->name);
	if (!assembly->names[slot])
		return error_no_memory(err);
	(void)array_put(assembly->array, slot, take_ptr(&candidate->file));
	assembly->rings[slot] = candidate->ring;
	return 0;
}

static int assembly_fill(struct assembly *assembly, struct search *search, const struct members *table,
			 uint64_t newest, struct error *err)
{
	auto_free struct candidate **by_slot = calloc(table->count, sizeof(*by_slot));
	int r = by_slot ? 0 : error_no_memory(err);

	for (uint32_t i = 0; r == 0 && i < search->count; i++) {
		struct candidate *candidate = &search->items[i];
		uint32_t slot = candidate_slot(candidate, table);

		if (candidate->is_silent)
			continue;
		if (candidate->counts && slot != UINT32_MAX)
			r = assembly_put(assembly, candidate, slot, by_slot, err);
		else if (candidate->is_named)
			r = error_set(err, -ESTALE,
				      "'%s' was a member of the volume in superblock %" PRIu64
				      " and is none in %" PRIu64,
				      candidate->name, candidate->super.sequence, newest);
	}
	return r;
}

static int assembly_new(uint32_t count, struct assembly *ret, struct error *err)
{
	*ret = (struct assembly){ .count = count, .names = calloc(count, sizeof(*ret->names)),
				  .whys = calloc(count, sizeof(*ret->whys)),
				  .rings = calloc(SUPERBLOCK_RINGS, sizeof(*ret->rings)) };
	if (!ret->names || !ret->whys || !ret->rings)
		return error_no_memory(err);
	return array_new(count, &ret->array, err);
}

/* Adds the names of found members to a reason that names missing ones by number. */
static int assembly_explain(const struct assembly *assembly, const struct search *search, struct error *err)
{
	struct error why = *err;

	if (search->silent[0])
		error_wrap(&why, why.code, "%s", search->silent);
	for (uint32_t i = assembly->count; i-- > 0;)
		if (assembly->names[i])
			error_wrap(&why, why.code, "member %" PRIu32 " is '%s'", i, assembly->names[i]);
	return error_pass(err, why.code, &why);
}

/* Drops stale members, from which nothing may be read. */
static void assembly_drop_stale(const struct assembly *assembly, const struct members *members)
{
	for (uint32_t i = 0; i < members->count; i++) {
		if (members->list[i].missing_from != 1 || !assembly->names[i])
			continue;
		file_close(array_put(assembly->array, i, NULL));
		free(take_ptr(&assembly->names[i]));
	}
}

/* Notes for each member that is not in use why. */
static int assembly_say_why(struct assembly *assembly, const struct search *search, const struct members *members,
			    struct error *err)
{
	for (uint32_t i = 0; i < members->count; i++) {
		bool is_found = assembly->names[i];
		const char *why = members->list[i].why;

		if (!members->list[i].missing_from)
			continue;
		if (asprintf(&assembly->whys[i], "%s%s%s%s", is_found ? "'" : "", is_found ? assembly->names[i] : "",
			     is_found ? "': " : "", !is_found && search->silent[0] ? search->silent : why) < 0) {
			assembly->whys[i] = NULL;
			return error_no_memory(err);
		}
	}
	return 0;
}

static int assembly_check(struct assembly *assembly, const struct search *search, struct error *err)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	int r = catalogue_load(&assembly->array->source, assembly->rings, &super, &catalogue, err);

	if (r == 0)
		r = assembly_say_why(assembly, search, &catalogue.members, err);
	if (r == 0)
		assembly_drop_stale(assembly, &catalogue.members);
	catalogue_free(&catalogue);
	return r < 0 ? assembly_explain(assembly, search, err) : 0;
}

static int assembly_of_members(struct search *search, struct assembly *ret, struct error *err)
{
	struct assembly assembly = { 0 };
	const struct members *table;
	uint64_t newest = 0;
	int r = search_spread(search, err);

	if (r < 0)
		return r;
	table = search_table(search, &newest);
	if (!table)
		return assembly_refuse(&search->items[0], &search->items[0].damaged, err);
	r = assembly_new(table->count, &assembly, err);
	if (r == 0)
		r = assembly_fill(&assembly, search, table, newest, err);
	if (r == 0)
		r = assembly_check(&assembly, search, err);
	if (r < 0) {
		assembly_close(&assembly);
		return r;
	}
	*ret = assembly;
	return 0;
}

/* --- by name --- */

static int assembly_of_one(struct candidate *candidate, struct assembly *ret, struct error *err)
{
	struct assembly assembly = { 0 };
	int r = assembly_new(1, &assembly, err);

	if (r < 0) {
		assembly_close(&assembly);
		return r;
	}
	assembly.rings[0] = candidate->ring;
	assembly.names[0] = take_ptr(&candidate->name);
	(void)array_put(assembly.array, 0, take_ptr(&candidate->file));
	*ret = assembly;
	return 0;
}

static int assembly_check_named(const struct candidate *candidate, const struct candidate *first, struct error *err)
{
	char found[UUID_TEXT_SIZE], expected[UUID_TEXT_SIZE];

	if (candidate->is_silent) /* it may be the missing member */
		return 0;
	if (!candidate->super.sequence)
		return assembly_refuse(candidate, &candidate->unreadable, err);
	if (!candidate_has_members(candidate))
		return error_set(err, -EINVAL, "'%s' is a volume of its own, of one member", candidate->name);
	if (!memcmp(candidate->super.volume_uuid, first->super.volume_uuid, sizeof(first->super.volume_uuid)))
		return 0;
	format_uuid(candidate->super.volume_uuid, found);
	format_uuid(first->super.volume_uuid, expected);
	return error_set(err, -EXDEV, "'%s' belongs to another volume: its UUID is %s, that of '%s' is %s",
			 candidate->name, found, first->name, expected);
}

/* Returns the first candidate that answers; NULL: none does. */
static const struct candidate *search_first(const struct search *search)
{
	for (uint32_t i = 0; i < search->count; i++)
		if (!search->items[i].is_silent)
			return &search->items[i];
	return NULL;
}

static int assembly_by_names(struct search *search, const char *volume, struct assembly *ret, struct error *err)
{
	const struct candidate *first;
	char **names;
	uint32_t count;
	int r = naming_split(volume, &names, &count, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = search_add_named(search, names[i], count == 1, err);
		if (r < 0 && count > 1)
			error_wrap(err, r, "'%s'", names[i]);
	}
	naming_free(names, count);
	if (r == 0)
		r = search_read_named(search, err);
	search->read = search->count;
	if (r < 0)
		return r;
	if (count == 1 && !candidate_has_members(&search->items[0]))
		return assembly_of_one(&search->items[0], ret, err);
	first = search_first(search);
	if (!first)
		return assembly_refuse(&search->items[0], &search->items[0].unreadable, err);
	for (uint32_t i = 0; r == 0 && i < search->count; i++)
		r = assembly_check_named(&search->items[i], first, err);
	if (r == 0 && count == 1)
		r = search_scan(search, err);
	return r < 0 ? r : assembly_of_members(search, ret, err);
}

static int assembly_by_uuid(struct search *search, const char *volume, struct assembly *ret, struct error *err)
{
	int r = naming_uuid(volume, search->uuid, err);

	if (r == 0)
		r = search_devices(search, err);
	if (r < 0)
		return r;
	if (!search->count)
		return error_set(err, -ENOENT, "no block device is of this volume%s%s",
				 search->silent[0] ? ", but " : "", search->silent);
	for (uint32_t i = 0; i < search->count; i++)
		if (!candidate_has_members(&search->items[i]) && search->count > 1)
			return error_set(err, -ENOTUNIQ, "'%s' and '%s' have the same UUID: one is a copy",
					 search->items[i].name, search->items[i ? 0 : 1].name);
	return candidate_has_members(&search->items[0]) ? assembly_of_members(search, ret, err) :
							  assembly_of_one(&search->items[0], ret, err);
}

int assembly_open(const char *volume, int64_t alone, struct assembly *ret, struct error *err)
{
	struct search search = { .alone = alone };
	int r = naming_is_uuid(volume) ? assembly_by_uuid(&search, volume, ret, err) :
					 assembly_by_names(&search, volume, ret, err);

	search_close(&search);
	return r;
}
