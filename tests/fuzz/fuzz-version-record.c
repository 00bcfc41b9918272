/* SPDX-License-Identifier: MIT */
/* The bytes of an open version's record; what is read from it can be used, and written to a record that reads the
 * same. */
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "image/members/address.h"
#include "opened/version_record.h"

static void use_list(const struct version_record *record, const struct extent_list *list)
{
	const struct members *members = &record->members;
	uint64_t copies[DSFS_COPIES_MAX];

	for (uint32_t i = 0; members->count && i < list->count; i++) {
		if (!members_in_column(members, list->items[i].address, list->items[i].length) ||
		    !members_copies(members, list->items[i].address, copies))
			__builtin_trap();
	}
}

static void use_block_sums(const struct block_sums *block_sums, uint64_t chunks)
{
	uint64_t pages = block_sums_page_count(block_sums);
	struct block_sums_row row;

	for (uint64_t chunk = 0; chunk < chunks && chunk < 4096; chunk++)
		if (block_sums_find(block_sums, chunk, &row) && row.page >= pages)
			__builtin_trap();
	for (uint64_t page = 0; page < pages && page < 4096; page++) {
		(void)block_sums_page_sum(block_sums, page);
		(void)block_sums_page_address(block_sums, page);
	}
}

static void write_again(const struct version_record *record)
{
	struct version_record again = { 0 };
	int fd = -1;

	if (version_record_write(record, &fd, NULL) < 0 || version_record_read(fd, &again, NULL) < 0 ||
	    again.hidden_mode != record->hidden_mode ||
	    again.member_size != record->member_size || again.members.count != record->members.count ||
	    again.version.segments.count != record->version.segments.count ||
	    !again.block_sums != !record->block_sums)
		__builtin_trap();
	version_record_free(&again);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct version_record record = { 0 };

	if (version_record_decode(span_of(bytes, length), &record, NULL) < 0)
		return 0;
	use_list(&record, &record.version.index.extents);
	use_list(&record, &record.version.source.extents);
	use_list(&record, &record.version.block_sums.extents);
	if (record.block_sums)
		use_block_sums(record.block_sums, record.version.shape.chunk_count);
	write_again(&record);
	version_record_free(&record);
	return 0;
}
