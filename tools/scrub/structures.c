/* SPDX-License-Identifier: MIT */
/* Checks and repairs structures. A damaged slot that is not in force is emptied. If a member lost its slot in force,
 * the transaction writes it again: the member looks like one that a publisher did not reach. */
#include "scrub/structures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/huge.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"
#include "verify/superblocks.h"

#define STRUCTURES_RECORD    DSFS_SLOT_COUNT       /* number of the publisher record, after the slots */
#define STRUCTURES_CATALOGUE (DSFS_SLOT_COUNT + 1) /* number of the catalogue */
#define STRUCTURES_COUNT     (DSFS_SLOT_COUNT + 2)
#define STRUCTURES_NAME      64u

static void structures_name(uint32_t number, uint32_t member, bool is_only, char name[STRUCTURES_NAME])
{
	char whose[32] = "";

	if (!is_only)
		snprintf(whose, sizeof(whose), " of member %" PRIu32, member);
	if (number < STRUCTURES_RECORD)
		snprintf(name, STRUCTURES_NAME, "superblock slot %" PRIu32 "%s", number, whose);
	else
		snprintf(name, STRUCTURES_NAME, "%s%s",
			 number == STRUCTURES_RECORD ? "publisher record" : "catalogue", whose);
}

static int structures_check_catalogue(struct source *source, uint32_t member, struct error *err)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	int r = superblock_find(source, member, &super, err);

	if (r == 0)
		r = catalogue_load_by(source, &super, &catalogue, err);
	catalogue_free(&catalogue);
	return r;
}

/* Looks at one of them again. */
static int structures_look(struct source *source, uint32_t member, uint32_t number, struct error *err)
{
	struct superblocks_found found;

	if (number == STRUCTURES_CATALOGUE)
		return structures_check_catalogue(source, member, err);
	if (number == STRUCTURES_RECORD)
		superblocks_check_publisher(source, member, &found);
	else
		superblocks_check_slot(source, member, number, &found);
	return found.result < 0 ? error_pass(err, found.result, &found.err) : 0;
}

static void structures_look_at_all(struct source *source, uint32_t member,
				   struct superblocks_found found[STRUCTURES_COUNT])
{
	struct superblocks_found *catalogue = &found[STRUCTURES_CATALOGUE];

	superblocks_check_slots(source, member, found);
	superblocks_check_publisher(source, member, &found[STRUCTURES_RECORD]);
	*catalogue = (struct superblocks_found){ 0 };
	catalogue->result = structures_check_catalogue(source, member, &catalogue->err);
}

static void structures_report(struct findings *findings, uint32_t member, const char *name, enum finding_state state,
			      const struct error *why)
{
	findings_add(findings, &(struct finding){ .state = state, .what = name, .member = member,
						  .reason = why->reason });
}

int structures_check(struct source *source, uint32_t member, bool is_only, struct findings *findings,
		     struct error *err)
{
	struct superblocks_found found[STRUCTURES_COUNT];
	char name[STRUCTURES_NAME];

	structures_look_at_all(source, member, found);
	for (uint32_t i = 0; i < STRUCTURES_COUNT; i++) {
		const struct error *why = &found[i].err;

		if (found[i].result == 0)
			continue;
		if (why->code == -ENOMEM) /* lack of memory says nothing about the bytes */
			return error_pass(err, why->code, why);
		structures_name(i, member, is_only, name);
		structures_report(findings, member, name,
				  error_is_damage(why->code) ? FINDING_DAMAGED : FINDING_UNKNOWN, why);
	}
	return 0;
}

void structures_missing(uint32_t member, struct findings *findings)
{
	struct error why = { 0 };
	char name[STRUCTURES_NAME];

	snprintf(name, sizeof(name), "member %" PRIu32, member);
	error_set(&why, -ENODEV, "it is missing, its contents are skipped");
	structures_report(findings, member, name, FINDING_UNKNOWN, &why);
}

/* --- repair --- */

static int structures_empty_slot(struct transaction *transaction, uint32_t member, uint32_t slot, struct error *err)
{
	uint8_t zeros[DSFS_BLOCK] __attribute__((aligned(DSFS_BLOCK))) = { 0 };
	int r = source_write(transaction->source, member, (uint64_t)slot * DSFS_SLOT_SPACING, zeros, sizeof(zeros),
			     err);

	return r < 0 ? r : source_flush(transaction->source, err);
}

static int structures_read_catalogue(struct transaction *transaction, const struct superblock *super, uint8_t *bytes,
				     struct error *err)
{
	uint8_t found[SHA256_SIZE];
	int r = source_read(transaction->source, address_member(super->catalogue_address),
			    address_offset(super->catalogue_address), bytes, super->catalogue_length, err);

	if (r == 0)
		r = sha256_of(bytes, super->catalogue_length, found, err);
	if (r == 0 && memcmp(found, super->catalogue_sha256, sizeof(found)) != 0)
		r = error_set(err, -EBADMSG, "catalogue: its SHA-256 is not the one in the superblock");
	return r;
}

/* Writes the catalogue of a member again. All have the same one, so the first intact copy will do. */
static int structures_write_catalogue(struct transaction *transaction, uint32_t member, struct error *err)
{
	const struct superblock *to = &transaction->members[member].super;
	auto_free uint8_t *bytes = huge_alloc(to->catalogue_length);
	int r = bytes ? -EBADMSG : error_no_memory(err);

	for (uint32_t i = 0; r == -EBADMSG && i < transaction->member_count; i++)
		if (transaction->members[i].super.catalogue_length == to->catalogue_length)
			r = structures_read_catalogue(transaction, &transaction->members[i].super, bytes, err);
	if (r == 0 && memcmp(transaction->super.catalogue_sha256, to->catalogue_sha256, SHA256_SIZE) != 0)
		r = error_set(err, -EBADMSG, "catalogue: the member names another one");
	if (r == 0)
		r = source_write(transaction->source, member, address_offset(to->catalogue_address), bytes,
				 to->catalogue_length, err);
	return r < 0 ? r : source_flush(transaction->source, err);
}

/* Repairs one structure, except the publisher record, which the transaction itself writes and clears. */
static int structures_mend(struct transaction *transaction, uint32_t member, uint32_t number, struct error *err)
{
	if (structures_look(transaction->source, member, number, NULL) == 0 || number == STRUCTURES_RECORD)
		return 0;
	return number == STRUCTURES_CATALOGUE ? structures_write_catalogue(transaction, member, err) :
						structures_empty_slot(transaction, member, number, err);
}

static void structures_mend_wrong(struct transaction *transaction, uint32_t member,
				  const struct superblocks_found *found, struct findings *findings)
{
	char name[STRUCTURES_NAME];

	for (uint32_t i = 0; i < STRUCTURES_COUNT; i++) {
		struct error failed = { 0 };
		bool is_sound;

		if (found[i].result == 0)
			continue;
		structures_name(i, member, transaction->member_count == 1, name);
		is_sound = structures_mend(transaction, member, i, &failed) == 0 &&
			   structures_look(transaction->source, member, i, &failed) == 0;
		structures_report(findings, member, name, is_sound ? FINDING_REPAIRED : FINDING_FAILED,
				  is_sound ? &found[i].err : &failed);
	}
}

int structures_repair(struct transaction *transaction, struct findings *findings, struct error *err)
{
	auto_free struct superblocks_found(*list)[STRUCTURES_COUNT] = calloc(transaction->member_count, sizeof(*list));
	int r;

	if (!list)
		return error_no_memory(err);
	for (uint32_t m = 0; m < transaction->member_count; m++) {
		if (transaction->members[m].file)
			structures_look_at_all(transaction->source, m, list[m]);
		else
			structures_missing(m, findings);
	}
	r = transaction_begin(transaction, err);
	for (uint32_t m = 0; r == 0 && m < transaction->member_count; m++)
		structures_mend_wrong(transaction, m, list[m], findings);
	return r;
}
