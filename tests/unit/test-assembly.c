/* SPDX-License-Identifier: MIT */
/* Which files make up a volume: by one of them, or by a list; and what is refused, by name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assembly/assembly.h"
#include "assembly/naming.h"
#include "image/catalogue/catalogue.h"
#include "image/sums/sha256.h"
#include "lib/check.h"

#define COUNT 3u
#define SIZE  (4 * DSFS_DATA_AT)

/* The state that the members of a volume are written from. */
struct state {
	struct member list[COUNT];
	struct member_group groups[COUNT];
	uint64_t columns[COUNT];
	struct catalogue catalogue; /* its table lies in these three */
	uint64_t sequence;
	uint8_t volume_uuid[16];
};

static char folder[] = "/tmp/test-assembly-XXXXXX";

static struct state state_of(const char *volume, const char *members)
{
	struct state state = { .sequence = 1, .catalogue.next_sequence = 1 };

	memcpy(state.volume_uuid, volume, strlen(volume));
	memcpy(state.catalogue.volume_uuid, volume, strlen(volume));
	for (uint32_t i = 0; i < COUNT; i++) {
		state.list[i].uuid[0] = (uint8_t)members[i];
		state.list[i].size = SIZE;
	}
	state.catalogue.members = (struct members){ .segment_log = DSFS_SEGMENT_LOG_MIN, .count = COUNT };
	for (uint32_t i = 0; i < COUNT; i++) { /* each has something that no other one has */
		state.groups[i] = (struct member_group){
			.birth = 1, .tail = DSFS_BLOCK, .first_column = i, .kind = DSFS_GROUP_COPIES, .data = 1
		};
		state.columns[i] = (uint64_t)i << DSFS_ADDRESS_BITS | 3 * DSFS_DATA_AT;
	}
	state.catalogue.members.group_count = state.catalogue.members.column_count = COUNT;
	return state;
}

static struct superblock super_of(const struct state *state, uint32_t number, const uint8_t *bytes, uint64_t length)
{
	struct superblock super = { .feature_incompat = DSFS_INCOMPAT_MEMBERS,
				    .sequence = state->sequence,
				    .member_size = SIZE,
				    .member = number,
				    .member_count = COUNT,
				    .segment_log = DSFS_SEGMENT_LOG_MIN,
				    .catalogue_address = (uint64_t)number << DSFS_ADDRESS_BITS | 2 * DSFS_DATA_AT,
				    .catalogue_length = length };

	memcpy(super.volume_uuid, state->volume_uuid, sizeof(super.volume_uuid));
	memcpy(super.member_uuid, state->list[number].uuid, sizeof(super.member_uuid));
	CHECK_OK(sha256_of(bytes, length, super.catalogue_sha256, &err));
	return super;
}

/* Writes the member with this number as file name. */
static struct superblock put(struct state *state, uint32_t number, const char *name)
{
	struct dsfs_superblock disk;
	struct superblock super;
	uint64_t length;
	uint8_t *bytes;
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	state->catalogue.members.list = state->list;
	state->catalogue.members.groups = state->groups;
	state->catalogue.members.columns = state->columns;
	CHECK_OK(catalogue_encode(&state->catalogue, &bytes, &length, &err));
	super = super_of(state, number, bytes, length);
	superblock_encode(&super, &disk);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	assert_int_equal(pwrite(fd, bytes, length, 2 * DSFS_DATA_AT), length);
	assert_int_equal(pwrite(fd, &disk, sizeof(disk),
				(off_t)(state->sequence % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING)), sizeof(disk));
	close(fd);
	free(bytes);
	return super;
}

/* The next superblock of the volume; nonce: of its catalogue, which makes branches differ. */
static void advance(struct state *state, const struct superblock *last, uint64_t nonce)
{
	members_remember(&state->catalogue.members, last);
	state->catalogue.members.nonce = nonce;
	state->sequence++;
	for (uint32_t i = 0; i < COUNT; i++) /* all is written anew */
		state->groups[i].birth = state->sequence;
}

static struct superblock put_all(struct state *state)
{
	put(state, 0, "a");
	put(state, 1, "b");
	return put(state, 2, "c");
}

static int enter(void **argument)
{
	char name[] = "test-XXXXXX";

	assert_int_equal(chdir(folder), 0);
	assert_non_null(mkdtemp(name));
	return chdir(name);
}

static void check_names(const char *volume, const char *expected)
{
	struct assembly assembly;
	char found[64] = "";

	CHECK_OK(assembly_open(volume, FILE_PATIENCE, &assembly, &err));
	for (uint32_t i = 0; i < assembly.count; i++) {
		const char *slash = strrchr(assembly.names[i], '/');

		assert_int_equal(assembly.array->count, assembly.count);
		assert_int_equal(assembly.array->fds[i], assembly.array->files[i]->fd);
		strcat(strcat(found, i ? " " : ""), slash ? slash + 1 : assembly.names[i]);
	}
	assert_string_equal(found, expected);
	assembly_close(&assembly);
}

#define CHECK_REFUSED(volume, code, text)                                          \
	do {                                                                       \
		struct assembly assembly;                                          \
		CHECK_FAILS(assembly_open(volume, FILE_PATIENCE, &assembly, &err), code, text);   \
	} while (0)

static void test_one_file_is_what_it_is(void **argument)
{
	int fd = open("plain", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, 4096), 0);
	close(fd);
	check_names("plain", "plain");
	CHECK_REFUSED("nothing", -ENOENT, "there is no such file or device");
	assert_int_equal(rename("plain", "with,comma"), 0);
	check_names("with,comma", "with,comma");
}

static void test_any_of_them_and_any_order(void **argument)
{
	static const char *const lists[] = { "a,b,c", "a,c,b", "b,a,c", "b,c,a", "c,a,b", "c,b,a", "a", "b", "c" };
	struct state state = state_of("volume", "XYZ"), other = state_of("other", "UVW");

	put_all(&state);
	put(&other, 0, "other");
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		check_names(lists[i], "a b c");
	assert_int_equal(rename("a", "z"), 0);
	check_names("c", "z b c");
}

static void test_only_beside_it(void **argument)
{
	struct state state = state_of("volume", "XYZ");

	put_all(&state);
	assert_int_equal(mkdir("elsewhere", 0700), 0);
	assert_int_equal(rename("b", "elsewhere/b"), 0);
	CHECK_REFUSED("a", -ENOLINK, "1 of 3 members are missing: member 1");
	check_names("a,elsewhere/b,c", "a b c");
	assert_int_equal(symlink("../a", "elsewhere/link"), 0);
	assert_int_equal(rename("elsewhere/b", "b"), 0);
	check_names("elsewhere/link", "link b c"); /* beside what it leads to */
}

static void test_missing(void **argument)
{
	struct state state = state_of("volume", "XYZ");

	put_all(&state);
	CHECK_REFUSED("a,c", -ENOLINK, "member 1 (59000000-0000-0000-0000-000000000000)");
	CHECK_REFUSED("a,c", -ENOLINK, "member 2 is 'c'");
	CHECK_REFUSED("a,nothing,c", -ENOENT, "'nothing'");
	CHECK_REFUSED("a,,c", -EINVAL, "empty");
}

static void test_foreign(void **argument)
{
	struct state state = state_of("volume", "XYZ"), other = state_of("other", "UVW");

	put_all(&state);
	put(&other, 1, "other");
	CHECK_REFUSED("a,other,c", -EXDEV, "'other' belongs to another volume");
	truncate("other", 0);
	truncate("other", SIZE);
	CHECK_REFUSED("a,other,c", -EBADMSG, "'other': not a datasetfs volume");
}

static void test_twice(void **argument)
{
	struct state state = state_of("volume", "XYZ");

	put_all(&state);
	CHECK_REFUSED("a,a,b,c", -ENOTUNIQ, "'a' and 'a' are both member 0");
	put(&state, 1, "copy");
	CHECK_REFUSED("a,b,c,copy", -ENOTUNIQ, "'b' and 'copy' are both member 1");
	CHECK_REFUSED("a", -ENOTUNIQ, "are both member 1");
	check_names("a,copy,c", "a copy c");
}

/* A publisher that was cut off had written all but the slot; who missed more is stale. */
static void test_behind(void **argument)
{
	struct state state = state_of("volume", "XYZ");
	struct superblock last;

	last = put_all(&state);
	advance(&state, &last, 2);
	put(&state, 0, "a");
	last = put(&state, 1, "b");
	check_names("c", "a b c");
	advance(&state, &last, 3);
	put(&state, 0, "a");
	put(&state, 1, "b");
	CHECK_REFUSED("c", -ENOLINK, "stale since superblock 1");
	CHECK_REFUSED("a,b,c", -ENOLINK, "member 2 is 'c'");
}

static void test_another_branch(void **argument)
{
	struct state state = state_of("volume", "XYZ"), branch = state;
	struct superblock last;

	last = put_all(&state);
	branch = state;
	advance(&state, &last, 2);
	advance(&branch, &last, 3);
	put(&state, 0, "a");
	put(&state, 1, "b");
	put(&branch, 2, "c");
	CHECK_REFUSED("a", -EBADMSG, "of another branch");
	CHECK_REFUSED("c,b,a", -EBADMSG, "member 2 is 'c'");
}

/* It was replaced: the newest table has another one in its place. */
static void test_former_member(void **argument)
{
	struct state state = state_of("volume", "XYZ");
	struct superblock last;

	last = put_all(&state);
	state.list[2].uuid[0] = 'W';
	advance(&state, &last, 2);
	put(&state, 0, "a");
	put(&state, 1, "b");
	put(&state, 2, "new");
	check_names("a", "a b new");
	check_names("new", "a b new");
	CHECK_REFUSED("c", -ESTALE, "'c' was a member of the volume in superblock 1 and is none in 2");
	CHECK_REFUSED("a,b,c", -ESTALE, "'c' was a member");
}

/* A mount has room for the members that it was opened with. */
static void test_other_count(void **argument)
{
	struct state state = state_of("volume", "XYZ");
	struct assembly assembly;
	struct catalogue catalogue = { 0 };
	struct superblock super;

	put_all(&state);
	CHECK_OK(assembly_open("a", FILE_PATIENCE, &assembly, &err));
	CHECK_OK(catalogue_load(&assembly.array->source, NULL, &super, &catalogue, &err));
	catalogue_free(&catalogue);
	assembly.array->source.count = COUNT - 1;
	CHECK_FAILS(catalogue_load(&assembly.array->source, NULL, &super, &catalogue, &err), -ESTALE,
		    "has 3 members now, had 2");
	assembly_close(&assembly);
}

/* A file that only claims to be a member, and has the newest state, is not believed. */
static void test_forged(void **argument)
{
	struct state state = state_of("volume", "XYZ"), forged = state_of("volume", "XYF");

	put_all(&state);
	forged.sequence = 7;
	put(&forged, 2, "forged");
	check_names("a", "a b c");
	check_names("c,b,a", "a b c");
}

/* The others say who they are. */
static void test_damaged_catalogue(void **argument)
{
	struct state state = state_of("volume", "XYZ"), forged = state_of("volume", "XYF");
	int fd;

	put_all(&state);
	fd = open("b", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "damage", 6, 2 * DSFS_DATA_AT + 64), 6);
	close(fd);
	check_names("b", "a b c");
	forged.sequence = 7;
	put(&forged, 2, "forged");
	check_names("b", "a b c");
}

static void test_names(void **argument)
{
	char **names, *absolute;
	uint32_t count;

	CHECK_OK(naming_split("nvme://nqn.2024-01:a,b/1,nvme:uuid:1,/dev/x", &names, &count, &err));
	assert_int_equal(count, 3);
	assert_string_equal(names[0], "nvme://nqn.2024-01:a,b/1");
	assert_string_equal(names[2], "/dev/x");
	naming_free(names, count);
	assert_true(naming_is_one("nvme://nqn.2024-01:a,b/1"));
	assert_false(naming_is_one("a,b"));
	assert_true(naming_is_uuid("uuid:00112233-4455-6677-8899-aabbccddeeff"));
	CHECK_OK(naming_absolute("nvme:uuid:1,/dev/null", &absolute, &err));
	assert_string_equal(absolute, "nvme:uuid:1,/dev/null");
	free(absolute);
	CHECK_OK(naming_absolute("/dev/null,.", &absolute, &err));
	assert_true(!strncmp(absolute, "/dev/null,/", 11) && !strchr(absolute + 11, ','));
	assert_true(naming_is_reachable(absolute));
	free(absolute);
	assert_false(naming_is_reachable("/dev/null,/nothing"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, enter)
	const struct CMUnitTest tests[] = {
		TEST(test_one_file_is_what_it_is), TEST(test_any_of_them_and_any_order),
		TEST(test_only_beside_it),         TEST(test_missing),
		TEST(test_foreign),                TEST(test_twice),
		TEST(test_behind),                 TEST(test_another_branch),
		TEST(test_former_member),          TEST(test_forged), TEST(test_other_count),
		TEST(test_damaged_catalogue),      TEST(test_names)
	};
	char command[64];
	int r;

	if (!mkdtemp(folder))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) ? 1 : r;
}
