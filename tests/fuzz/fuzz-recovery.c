/* SPDX-License-Identifier: MIT */
/* Recovery records: one that is accepted stays acceptable, whatever a successor does with it. The input is a list of
 * changes to a valid record, because almost all of its bytes are names and free places. */
#include <stddef.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "serve/recovery/recovery.h"

#define HEAD offsetof(struct recovery, volume)

/* seed_record() in make-corpus.c writes these. A place beyond the record, as a random one is mostly, is one of the
 * fields before the names. */
struct record_patch {
	uint32_t at, value;
};

static struct recovery record, valid;

static void check(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void make_valid(void)
{
	struct dsfs_switch answer = { .label = "v1" };

	valid = (struct recovery){ .magic = RECOVERY_MAGIC,
				   .format = RECOVERY_FORMAT,
				   .size = sizeof(valid),
				   .next_key = 1,
				   .workers = 4,
				   .slots = 4,
				   .member_count = 2,
				   .volume = "volume",
				   .mountpoint = "/mnt",
				   .source = "source" };
	check(recovery_add_version(&valid, &(struct recovery_version){ .key = 5, .sequence = 9 }, NULL) == 0);
	check(recovery_add_version(&valid, &(struct recovery_version){ .key = 6, .sequence = 11 }, NULL) == 0);
	recovery_set_member(&valid, 0, "volume");
	atomic_store(&valid.current, 5);
	valid.served[0].key = 6;
	recovery_serve(&valid, &(struct recovery_served){ .key = 5 });
	recovery_end_command(&valid, 19, 0, &answer);
	check(recovery_check(&valid, NULL) == 0);
}

static void use_commands(void)
{
	struct dsfs_switch answer;
	uint64_t unique, key, none;

	for (uint32_t i = 0; i < RECOVERY_RESULTS; i++) {
		unique = atomic_load(&record.results[i].unique);
		check(!unique || recovery_find_result(&record, unique) == &record.results[i]);
	}
	memset(&answer, 'x', sizeof(answer));
	if (recovery_pending(&record, &unique, &key)) {
		check(recovery_find_version(&record, key) != NULL);
		recovery_end_command(&record, unique, -5, &answer);
		check(recovery_find_result(&record, unique)->result == -5);
	}
	check(!recovery_pending(&record, &unique, &none));
}

static void use_crashes(void)
{
	struct recovery_request request;
	uint32_t incarnation = atomic_load(&record.incarnation) + 1;
	uint32_t times = recovery_take_over(&record, incarnation, &request);

	check(!times || recovery_crashes(&record, &request) == times);
	check(recovery_take_over(&record, incarnation, &request) == 0);
	request = (struct recovery_request){ .unique = 1, .nodeid = 3 };
	recovery_take(&record, 0, &request);
	recovery_mark_crash(&record, 0);
	check(recovery_take_over(&record, incarnation + 1, &request) > 0);
}

static void use(void)
{
	static const uint8_t uuid[16] = { 2 };
	uint64_t next = atomic_load(&record.next_key);

	for (uint32_t i = 0; i < record.member_count; i++)
		check(strlen(recovery_member(&record, i)) < RECOVERY_PATH);
	check(recovery_find_version(&record, atomic_load(&record.current)) != NULL);
	check(recovery_find_version(&record, recovery_served(&record)->key) != NULL);
	use_commands();
	use_crashes();
	recovery_set_member(&record, 0, "other");
	recovery_set_pointed(&record, uuid);
	recovery_serve(&record, recovery_served(&valid));
	recovery_serve(&record, &(struct recovery_served){ .key = atomic_load(&record.current) });
	if (recovery_add_version(&record, &(struct recovery_version){ .key = next, .sequence = UINT64_MAX }, NULL) == 0)
		recovery_remove_version(&record, next);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const size_t used = offsetof(struct recovery, members[2]);
	struct error err = { 0 };
	struct record_patch patch;

	if (!valid.magic)
		make_valid();
	memcpy(&record, &valid, used);
	for (size_t at = 0; at + sizeof(patch) <= length; at += sizeof(patch)) {
		memcpy(&patch, bytes + at, sizeof(patch));
		patch.at = patch.at <= used - sizeof(patch.value) ? patch.at : patch.at % HEAD;
		memcpy((uint8_t *)&record + patch.at, &patch.value, sizeof(patch.value));
	}
	if (recovery_check(&record, &err) < 0) {
		check(err.reason[0]);
		return 0;
	}
	use();
	check(recovery_check(&record, &err) == 0);
	return 0;
}
