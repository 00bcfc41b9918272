/* SPDX-License-Identifier: MIT */
/* Recovery records: one that is accepted stays acceptable, whatever a successor does with it. The input is a list of
 * changes to a valid record, because almost all of its bytes are names and free places. */
#include <stddef.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "serve/record/record.h"

#define HEAD offsetof(struct record, volume)

/* seed_record() in make-corpus.c writes these. A place beyond the record, as a random one is mostly, is one of the
 * fields before the names. */
struct record_patch {
	uint32_t at, value;
};

static struct record record, valid;

static void check(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void make_valid(void)
{
	struct dsfs_switch answer = { .label = "v1" };

	valid = (struct record){ .magic = RECORD_MAGIC, .format = RECORD_FORMAT, .size = sizeof(valid),
				 .next_key = 1, .workers = 4, .slots = 4, .member_count = 2,
				 .volume = "volume", .mountpoint = "/mnt", .source = "source" };
	check(record_add_version(&valid, &(struct record_version){ .key = 5, .sequence = 9 }, NULL) == 0);
	check(record_add_version(&valid, &(struct record_version){ .key = 6, .sequence = 11 }, NULL) == 0);
	record_set_member(&valid, 0, "volume");
	atomic_store(&valid.current, 5);
	valid.served[0].key = 6;
	record_serve(&valid, &(struct record_served){ .key = 5 });
	record_end_command(&valid, 19, 0, &answer);
	check(record_check(&valid, NULL) == 0);
}

static void use_commands(void)
{
	struct dsfs_switch answer;
	uint64_t unique, key, none;

	for (uint32_t i = 0; i < RECORD_RESULTS; i++) {
		unique = atomic_load(&record.results[i].unique);
		check(!unique || record_find_result(&record, unique) == &record.results[i]);
	}
	memset(&answer, 'x', sizeof(answer));
	if (record_pending(&record, &unique, &key)) {
		check(record_find_version(&record, key) != NULL);
		record_end_command(&record, unique, -5, &answer);
		check(record_find_result(&record, unique)->result == -5);
	}
	check(!record_pending(&record, &unique, &none));
}

static void use_crashes(void)
{
	struct record_request request;
	uint32_t incarnation = atomic_load(&record.incarnation) + 1;
	uint32_t times = record_take_over(&record, incarnation, &request);

	check(!times || record_crashes(&record, &request) == times);
	check(record_take_over(&record, incarnation, &request) == 0);
	request = (struct record_request){ .unique = 1, .nodeid = 3 };
	record_take(&record, 0, &request);
	record_mark_crash(&record, 0);
	check(record_take_over(&record, incarnation + 1, &request) > 0);
}

static void use(void)
{
	static const uint8_t uuid[16] = { 2 };
	uint64_t next = atomic_load(&record.next_key);

	for (uint32_t i = 0; i < record.member_count; i++)
		check(strlen(record_member(&record, i)) < RECORD_PATH);
	check(record_find_version(&record, atomic_load(&record.current)) != NULL);
	check(record_find_version(&record, record_served(&record)->key) != NULL);
	use_commands();
	use_crashes();
	record_set_member(&record, 0, "other");
	record_set_pointed(&record, uuid);
	record_serve(&record, record_served(&valid));
	record_serve(&record, &(struct record_served){ .key = atomic_load(&record.current) });
	if (record_add_version(&record, &(struct record_version){ .key = next, .sequence = UINT64_MAX }, NULL) == 0)
		record_remove_version(&record, next);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const size_t used = offsetof(struct record, members[2]);
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
	if (record_check(&record, &err) < 0) {
		check(err.reason[0]);
		return 0;
	}
	use();
	check(record_check(&record, &err) == 0);
	return 0;
}
