/* SPDX-License-Identifier: MIT */
/* How many chunks one read takes: bytes of content, bytes of the device, gaps, chunks that need no device. Files whose
 * chunks are taken as a whole, and where they lie. */
#include "image/catalogue/index_load.h"
#include "image/members/address.h"
#include "lib/check.h"
#include "lib/section.h"
#include "read/op.h"
#include "read/run.h"

#define AT  DSFS_DATA_AT
#define GAP 4096u

static struct chunk chunk_at(uint64_t address, uint32_t stored, uint32_t length)
{
	return (struct chunk){ .address = address, .stored = stored, .length = length, .codec = DSFS_CODEC_RAW };
}

/* Adds equal chunks, each so far behind the one before, until one does not fit; returns how many did. */
static uint32_t fill(struct run *run, uint32_t stored, uint32_t length, uint64_t gap)
{
	struct chunk chunk = chunk_at(AT, stored, length);

	*run = (struct run){ .gap = GAP };
	while (run_add(run, &chunk))
		chunk.address += stored + gap;
	return run->count;
}

static void test_limits(void **state)
{
	struct run run;

	assert_int_equal(fill(&run, 65536, 65536, 0), READ_MAX / 65536);
	assert_int_equal(run.content, READ_MAX);
	assert_int_equal(run.stored, READ_MAX);
	assert_int_equal(run.end, AT + READ_MAX);
	assert_int_equal(fill(&run, 1, 1, 0), READ_PIECES);
	/* Compressed ones: what they decode to counts as well. */
	assert_int_equal(fill(&run, 1000, 131072, 0), READ_MAX / 131072);
	assert_int_equal(run.stored, READ_MAX / 131072 * 1000);
}

/* The first gap that does not fit ends the read, though the content would; larger ones are skipped and cost nothing. */
static void test_gaps(void **state)
{
	struct run run;

	assert_int_equal(fill(&run, 4096, 4096, GAP), READ_MAX / (4096 + GAP));
	assert_int_equal(run.stored, READ_MAX - GAP);
	assert_int_equal(fill(&run, 4096, 4096, GAP + 1), READ_MAX / 4096);
	assert_int_equal(run.stored, READ_MAX);
}

/* One that lies before the last is read by itself, so there is no gap. */
static void test_backwards(void **state)
{
	struct chunk chunks[2] = { chunk_at(AT + 8192, 100, 100), chunk_at(AT, 200, 200) };
	struct run run = { .gap = GAP };

	assert_true(run_add(&run, &chunks[0]) && run_add(&run, &chunks[1]));
	assert_int_equal(run.stored, 300);
	assert_int_equal(run.end, AT + 200);
}

/* The content of holes and of chunks in the index counts, and they end no run of the device. */
static void test_without_device(void **state)
{
	struct chunk hole = chunk_at(0, 0, 1000), in_index = chunk_at(address_make(DSFS_IN_INDEX, 0), 500, 500);
	struct chunk first = chunk_at(AT, 100, 100), last = chunk_at(AT + 100 + GAP, 100, 100);
	struct run run = { .gap = GAP };

	assert_true(run_add(&run, &first) && run_add(&run, &hole) && run_add(&run, &in_index));
	assert_int_equal(run.content, 1600);
	assert_int_equal(run.stored, 100);
	assert_true(run_add(&run, &last));
	assert_int_equal(run.stored, 200 + GAP);
	assert_int_equal(run.count, 4);
}

/* A chunk that does not fit changes nothing; the first one fits, whatever it says of itself. */
static void test_refused(void **state)
{
	struct chunk all = chunk_at(AT, READ_MAX, READ_MAX), more = chunk_at(AT + READ_MAX, 1, 1);
	struct run run = { .gap = GAP }, before;

	assert_true(run_add(&run, &all));
	before = run;
	assert_false(run_add(&run, &more));
	assert_memory_equal(&run, &before, sizeof(run));
	all.stored++;
	run = (struct run){ .gap = GAP };
	assert_true(run_add(&run, &all));
}

/* ---- files ---- */

#define CHUNK 131072u

static struct section section;
static struct index *index_of;

static void load(void)
{
	struct version version = { 0 };

	CHECK_OK(index_load_fd(section_write(&section, &version), &version, 0, &section_two, &index_of, &err));
}

static struct inode inode_at(uint64_t ordinal)
{
	struct inode inode;

	CHECK_OK(inode_get(index_of, ordinal, &inode, &err));
	return inode;
}

static bool add(struct run *run, uint64_t ordinal)
{
	struct inode inode = inode_at(ordinal);

	return run_add_file(run, &inode);
}

/* The next member begins a read of its own when there is enough for one. */
static void test_turns(void **state)
{
	struct chunk chunks[READ_PIECES];
	struct run run;
	char name[2] = "a";

	section_init(&section);
	for (unsigned i = 0; i < 12; i++, name[0]++)
		section_file(&section, 1, name, CHUNK,
			     section_chunk(&section, SECTION_ON(i / 6) + i % 6 * CHUNK, 1, CHUNK, DSFS_CODEC_RAW));
	load();
	run = (struct run){ .index = index_of, .chunks = chunks };
	for (unsigned i = 0; i < 6; i++)
		assert_true(add(&run, 2 + i));
	assert_false(add(&run, 2 + 6));
	assert_int_equal(run.count, 6);
	run = (struct run){ .index = index_of, .chunks = chunks };
	for (unsigned i = 4; i < 8; i++)
		assert_true(add(&run, 2 + i));
	assert_int_equal(chunks[2].address, SECTION_ON(1));
	index_close(index_of);
}

/* Of a file that does not fit no chunk stays. */
static void test_whole_files(void **state)
{
	struct chunk chunks[READ_PIECES];
	struct run run;
	uint64_t first;

	section_init(&section);
	for (unsigned i = 0; i < 3; i++) {
		first = section_chunk(&section, SECTION_ON(0) + 3 * i * CHUNK, 1, CHUNK, DSFS_CODEC_RAW);
		section_chunk(&section, SECTION_ON(0) + (3 * i + 1) * CHUNK, 1, CHUNK, DSFS_CODEC_RAW);
		section_chunk(&section, SECTION_ON(0) + (3 * i + 2 + i / 2) * CHUNK, 1, 10, DSFS_CODEC_RAW);
		section_file(&section, 1, (char[]){ (char)('a' + i), 0 }, 2 * CHUNK + 10, first);
	}
	load();
	run = (struct run){ .index = index_of, .chunks = chunks, .gap = CHUNK };
	assert_true(add(&run, 2) && add(&run, 3));
	assert_int_equal(run.count, 6);
	assert_int_equal(run.content, 2 * (2 * CHUNK + 10));
	assert_int_equal(run.stored, 5 * CHUNK + 10);
	assert_false(add(&run, 4));
	assert_int_equal(run.count, 6);
	assert_int_equal(run.end, chunks[5].address + 10);
	assert_true(run_has(index_of, 3, &chunks[5]));
	assert_false(run_has(index_of, 2, &chunks[5]));
	index_close(index_of);
}

static void check_place(uint64_t ordinal, uint64_t address, uint64_t stored, uint64_t count)
{
	struct inode inode = inode_at(ordinal);
	struct run_place place = run_find(index_of, &inode);

	assert_int_equal(place.address, address);
	assert_int_equal(place.stored, stored);
	assert_int_equal(place.count, count);
}

/* A hole takes no place; a chunk elsewhere ends the piece. */
static void test_places(void **state)
{
	uint64_t at = SECTION_ON(0), first;

	section_init(&section);
	first = section_chunk(&section, at, 1, CHUNK, DSFS_CODEC_RAW);
	section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	section_chunk(&section, at + CHUNK, 1, 10, DSFS_CODEC_RAW);
	section_file(&section, 1, "a", 2 * CHUNK + 10, first);
	first = section_chunk(&section, at, 1, CHUNK, DSFS_CODEC_RAW);
	section_chunk(&section, at + CHUNK + 4096, 1, 10, DSFS_CODEC_RAW);
	section_file(&section, 1, "b", CHUNK + 10, first);
	section_file(&section, 1, "c", 0, 0);
	load();
	check_place(2, at, CHUNK + 10, 2);
	check_place(3, at, CHUNK, 1);
	check_place(4, 0, 0, 0);
	index_close(index_of);
}

CHECK_MAIN(cmocka_unit_test(test_limits), cmocka_unit_test(test_gaps), cmocka_unit_test(test_backwards),
	   cmocka_unit_test(test_without_device), cmocka_unit_test(test_refused), cmocka_unit_test(test_turns),
	   cmocka_unit_test(test_whole_files), cmocka_unit_test(test_places))
