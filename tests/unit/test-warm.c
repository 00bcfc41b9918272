/* SPDX-License-Identifier: MIT */
/* Files that a warm command names, where they are, and the jobs of a mount. */
#include <string.h>

#include "cache/store.h"
#include "image/catalogue/index_load.h"
#include "image/members/address.h"
#include "lib/check.h"
#include "lib/section.h"
#include "read/op.h"
#include "serve/cache/cached_files.h"
#include "serve/cache/file_set.h"
#include "serve/cache/warm_jobs.h"

static struct section section;
static struct index *index_of;

static void load(void)
{
	struct version version = { 0 };

	CHECK_OK(index_load_fd(section_write(&section, &version), &version, 0, &section_two, &index_of, &err));
}

/* ---- what is named ---- */

/* Returns the members as digits. */
static const char *members_of(const struct file_set *wanted)
{
	static char text[32];
	size_t length = 0;

	for (uint64_t i = file_set_next(wanted, 0); i; i = file_set_next(wanted, i + 1))
		text[length++] = (char)('0' + i);
	text[length] = 0;
	return text;
}

static void test_set_of_ordinals(void **state)
{
	struct file_set wanted;

	CHECK_OK(file_set_open(&wanted, 128, &err));
	assert_int_equal(file_set_next(&wanted, 1), 0);
	assert_false(file_set_add(&wanted, 0) || file_set_add(&wanted, 129));
	assert_true(file_set_add(&wanted, 1) && file_set_add(&wanted, 64) && file_set_add(&wanted, 128));
	assert_true(file_set_add(&wanted, 64));
	assert_true(file_set_has(&wanted, 64) && !file_set_has(&wanted, 63) && !file_set_has(&wanted, 129));
	assert_int_equal(file_set_next(&wanted, 1), 1);
	assert_int_equal(file_set_next(&wanted, 2), 64);
	assert_int_equal(file_set_next(&wanted, 65), 128);
	assert_int_equal(file_set_next(&wanted, 129), 0);
	file_set_close(&wanted);
}

/* 1 the root, 2 and 3 directories in it, 4 a file in it, 5 a directory in 2, 6 and 7 files in 5, 8 one in 3. */
static void make_tree(void)
{
	section_init(&section);
	section_directory(&section, 1, "a");
	section_directory(&section, 1, "b");
	section_file(&section, 1, "c", 0, 0);
	section_directory(&section, 2, "d");
	section_file(&section, 3, "h", 0, 0);
	section_file(&section, 5, "e", 0, 0);
	section_hard_link(&section, 5, "f", 4);
	section_file(&section, 5, "g", 0, 0);
	load();
}

static void test_directories_stand_for_all_below(void **state)
{
	struct file_set wanted;

	make_tree();
	CHECK_OK(file_set_open(&wanted, index_of->shape.inode_count, &err));
	assert_true(file_set_add(&wanted, 6));
	CHECK_OK(file_set_expand(&wanted, index_of, &err));
	assert_string_equal(members_of(&wanted), "6");
	assert_true(file_set_add(&wanted, 5) && file_set_add(&wanted, 2));
	CHECK_OK(file_set_expand(&wanted, index_of, &err));
	assert_string_equal(members_of(&wanted), "245678");
	assert_true(file_set_add(&wanted, INODE_ROOT));
	CHECK_OK(file_set_expand(&wanted, index_of, &err));
	assert_string_equal(members_of(&wanted), "12345678");
	file_set_close(&wanted);
	index_close(index_of);
}

/* ---- where files are ---- */

static _Atomic uint64_t words[CHUNK_MAP_BUCKET * 64];
static struct slot slots[4];

static void keep(struct store *store, const struct inode *inode, uint64_t i)
{
	struct chunk chunk;

	CHECK_OK(chunk_get(index_of, inode, i, &chunk, &err));
	assert_true(chunk_map_put(&store->table.map, chunk_map_key(&chunk), 1 + i));
}

static struct cached_file find(struct store *store, uint64_t ordinal)
{
	struct inode inode;

	CHECK_OK(inode_get(index_of, ordinal, &inode, &err));
	return cached_files_find(store, index_of, &inode);
}

static void test_where_files_are(void **state)
{
	struct store store = { .table = { .map = { words, 64 }, .slots = { .list = slots, .count = 4 } },
			       .view.table = &store.table };
	uint64_t first, inline_at;
	struct cached_file file;
	struct inode inode;

	section_init(&section);
	memcpy(section.blob + section.blob_length, "tiny", 4);
	inline_at = (uint64_t)DSFS_IN_INDEX << DSFS_ADDRESS_BITS | section.blob_length;
	section.blob_length += 4;
	first = section_chunk(&section, SECTION_ON(0), 1, 131072, DSFS_CODEC_RAW);
	section_chunk(&section, SECTION_ON(0) + 131072, 2, 5000, DSFS_CODEC_RAW);
	section_file(&section, 1, "2", 131072 + 5000, first);
	section_file(&section, 1, "3", 4, section_chunk(&section, inline_at, 3, 4, DSFS_CODEC_RAW));
	section_file(&section, 1, "4", 0, 0);
	section_file(&section, 1, "5", READ_MAX + 1, section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW));
	for (unsigned i = 0; i < READ_MAX / 131072; i++)
		section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	section_file(&section, 1, "6", 131072 + 100, section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW));
	section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	load();
	file = find(&store, 2);
	assert_int_equal(file.place, CACHED_FILE_MISSING);
	assert_int_equal(file.missing, 2);
	assert_int_equal(file.address, SECTION_ON(0));
	CHECK_OK(inode_get(index_of, 2, &inode, &err));
	keep(&store, &inode, 0);
	file = find(&store, 2);
	assert_int_equal(file.place, CACHED_FILE_MISSING); /* half of it is not enough */
	assert_int_equal(file.missing, 1);
	assert_int_equal(file.address, SECTION_ON(0) + 131072);
	keep(&store, &inode, 1);
	assert_int_equal(find(&store, 2).place, CACHED_FILE_WHOLE);
	assert_int_equal(find(&store, 3).place, CACHED_FILE_INDEX);
	assert_int_equal(find(&store, 4).place, CACHED_FILE_INDEX);
	assert_int_equal(find(&store, 5).place, CACHED_FILE_LARGE);
	assert_int_equal(find(&store, 6).place, CACHED_FILE_INDEX); /* a hole */
	index_close(index_of);
}

/* ---- jobs ---- */

static struct index many = { .shape = { .inode_count = 1000 } };
static struct generation first = {
	.sequence = 7, .opened.index = &many, .uses = 1, .opened.version = { .label = "first" }
};
static struct generation second = {
	.sequence = 8, .opened.index = &many, .uses = 1, .opened.version = { .label = "second" }
};
static struct warm_jobs jobs;

static uint64_t begin(uint32_t flags, uint64_t number)
{
	struct dsfs_warm command = { .flags = flags, .count = 1, .files = { number } };

	CHECK_OK(warm_jobs_command(&jobs, &first, &command, &err));
	assert_int_equal(command.sequence, 7);
	assert_string_equal(command.label, "first");
	return command.job;
}

static uint32_t state_of(uint64_t job, uint32_t flags)
{
	struct dsfs_warm command = { .flags = flags, .job = job };

	CHECK_OK(warm_jobs_command(&jobs, &first, &command, &err));
	return command.state;
}

static void test_a_job_from_its_beginning_to_its_end(void **state)
{
	struct dsfs_warm command = { 0 }, answer;
	struct warm_job *job;
	uint64_t number;

	warm_jobs_open(&jobs);
	number = begin(0, UINT64_C(7) << DSFS_ORDINAL_BITS | 5);
	assert_int_equal(state_of(number, 0), DSFS_WARM_TAKES);
	assert_null(warm_jobs_take(&jobs));
	command = (struct dsfs_warm){ .job = number, .flags = DSFS_WARM_GO, .count = 3, .files = { 9, 0, 1000 } };
	CHECK_OK(warm_jobs_command(&jobs, &second, &command, &err)); /* it stays with its version */
	assert_int_equal(command.state, DSFS_WARM_WAITS);
	assert_int_equal(command.sequence, 7);
	command = (struct dsfs_warm){ .job = number, .count = 1, .files = { 4 } };
	CHECK_FAILS(warm_jobs_command(&jobs, &first, &command, &err), -EINVAL, "has begun");
	job = warm_jobs_take(&jobs);
	assert_non_null(job);
	assert_null(warm_jobs_take(&jobs));
	assert_true(file_set_has(&job->wanted, 5) && file_set_has(&job->wanted, 9) && file_set_has(&job->wanted, 1000));
	assert_int_equal(file_set_next(&job->wanted, 10), 1000);
	assert_true(warm_jobs_is_wanted(&jobs, job));
	assert_true(warm_jobs_sweep(&jobs)); /* nothing happens to it */
	answer = job->answer;
	answer.state = DSFS_WARM_FULL;
	answer.cached = (struct dsfs_warm_count){ 3, 4000 };
	warm_jobs_tell(&jobs, job, &answer);
	assert_true(warm_jobs_sweep(&jobs)); /* nobody knows how it ended */
	command = (struct dsfs_warm){ .job = number };
	CHECK_OK(warm_jobs_command(&jobs, &first, &command, &err));
	assert_int_equal(command.state, DSFS_WARM_FULL);
	assert_int_equal(command.cached.bytes, 4000);
	assert_false(warm_jobs_sweep(&jobs));
	CHECK_FAILS(warm_jobs_command(&jobs, &first, &command, &err), -ENOENT, "there is no warm job");
	assert_int_equal(first.uses, 1);
	warm_jobs_close(&jobs);
}

static void test_jobs_that_nobody_asks_about_end(void **state)
{
	struct warm_job *job;
	uint64_t number;

	warm_jobs_open(&jobs);
	begin(0, 5);
	jobs.first->asked -= WARM_JOBS_PATIENCE;
	assert_false(warm_jobs_sweep(&jobs));
	number = begin(DSFS_WARM_GO, 5);
	job = warm_jobs_take(&jobs);
	job->asked -= WARM_JOBS_PATIENCE;
	assert_false(warm_jobs_is_wanted(&jobs, job));
	assert_int_equal(state_of(number, 0), DSFS_WARM_LOOKS); /* somebody asks again */
	assert_true(warm_jobs_is_wanted(&jobs, job));
	assert_int_equal(state_of(number, DSFS_WARM_STOP), DSFS_WARM_LOOKS);
	assert_false(warm_jobs_is_wanted(&jobs, job));
	number = begin(0, 6);
	assert_int_equal(state_of(number, DSFS_WARM_STOP), DSFS_WARM_STOPPED); /* it had not begun */
	warm_jobs_close(&jobs);
	assert_int_equal(first.uses, 1);
}

static void test_refused_jobs(void **state)
{
	struct dsfs_warm command = { .sequence = 8 };

	warm_jobs_open(&jobs);
	CHECK_FAILS(warm_jobs_command(&jobs, &first, &command, &err), -ESTALE, "the mount serves version 'first'");
	command = (struct dsfs_warm){ .count = 1, .files = { UINT64_C(8) << DSFS_ORDINAL_BITS | 5 } };
	CHECK_FAILS(warm_jobs_command(&jobs, &first, &command, &err), -ESTALE, "no file of version 'first'");
	command.files[0] = 1001;
	command.job = 0;
	CHECK_FAILS(warm_jobs_command(&jobs, &first, &command, &err), -ESTALE, "0x3e9 is no file");
	warm_jobs_close(&jobs);
	warm_jobs_open(&jobs);
	for (unsigned i = 0; i < WARM_JOBS_JOBS; i++)
		begin(0, 1);
	command = (struct dsfs_warm){ 0 };
	CHECK_FAILS(warm_jobs_command(&jobs, &first, &command, &err), -EBUSY, "8 warm jobs are there already");
	warm_jobs_close(&jobs);
	assert_int_equal(first.uses, 1);
}

CHECK_MAIN(cmocka_unit_test(test_set_of_ordinals), cmocka_unit_test(test_directories_stand_for_all_below),
	   cmocka_unit_test(test_where_files_are), cmocka_unit_test(test_a_job_from_its_beginning_to_its_end),
	   cmocka_unit_test(test_jobs_that_nobody_asks_about_end), cmocka_unit_test(test_refused_jobs))
