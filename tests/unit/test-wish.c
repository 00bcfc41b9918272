/* SPDX-License-Identifier: MIT */
/* The values of --dataset: every form, what users get wrong, bytes that somebody put there on purpose; and the
 * arguments of plugstack.conf. */
#include "lib/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "slurm/site.h"
#include "slurm/wish.h"

static void assert_wish(const char *text, const char *name, const char *version, const char *path)
{
	struct wish wish;

	CHECK_OK(wish_parse(text, &wish, &err));
	assert_string_equal(wish.name, name);
	assert_string_equal(wish.version, version);
	assert_string_equal(wish.path, path);
}

static void test_forms(void **state)
{
	assert_wish("train", "train", "", "");
	assert_wish("train@v1", "train", "v1", "");
	assert_wish("train,/data", "train", "", "/data");
	assert_wish("train@v1,/data", "train", "v1", "/data");
	assert_wish("train@2026@a:b,/data", "train", "2026@a:b", "/data");
	assert_wish("a+b@c", "a+b", "c", "");
	assert_wish("train,/data,with@more", "train", "", "/data,with@more");
	assert_wish("train,//my data///x/", "train", "", "/my data/x");
	assert_wish("train,/a/..b/...", "train", "", "/a/..b/...");
	assert_wish("train,/\xff\xfe", "train", "", "/\xff\xfe");
}

static void test_mistakes(void **state)
{
	static const char *const names[] = {
		"", "@v1", ",/data", "-train", ".train", "tr ain", "tr/ain", "../x", "a:b", "tr\nain",
	};
	static const char *const versions[] = {
		"train@", "train@,/data", "train@-v1", "train@a b", "train@a/b", "train@a\tb",
	};
	static const char *const paths[] = {
		"train,", "train,data", "train,/", "train,///", "train,/a/../b", "train,/..", "train,/.",
		"train,/a/./b", "train,/a\nb", "train,/a\x7f", "train,,/a",
	};
	struct wish wish = { .name = "kept" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		CHECK_FAILS(wish_parse(names[i], &wish, &err), -EINVAL, "the name of a data set is");
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		CHECK_FAILS(wish_parse(versions[i], &wish, &err), -EINVAL, "label");
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		CHECK_FAILS(wish_parse(paths[i], &wish, &err), -EINVAL, "expected an absolute one");
	assert_string_equal(wish.name, "kept");
}

/* Parses prefix and then length times the character. */
static int parse_long(const char *prefix, size_t length, char character, struct error *err)
{
	size_t begin = strlen(prefix);
	char *text = malloc(begin + length + 1);
	struct wish wish;
	int r;

	assert_non_null(text);
	strcpy(text, prefix);
	memset(text + begin, character, length);
	text[begin + length] = 0;
	r = wish_parse(text, &wish, err);
	free(text);
	return r;
}

static void test_lengths(void **state)
{
	CHECK_OK(parse_long("", DSFS_LABEL_MAX, 'x', &err));
	CHECK_FAILS(parse_long("", DSFS_LABEL_MAX + 1, 'x', &err), -EINVAL, "the name has 128 bytes");
	CHECK_OK(parse_long("t@", DSFS_LABEL_MAX, 'x', &err));
	CHECK_FAILS(parse_long("t@", DSFS_LABEL_MAX + 1, 'x', &err), -EINVAL, "the version has 128 bytes");
	CHECK_OK(parse_long("t,/", NAME_MAX, 'x', &err));
	CHECK_FAILS(parse_long("t,/", NAME_MAX + 1, 'x', &err), -EINVAL, "is too long");
	CHECK_FAILS(parse_long("t,/", 1000000, 'x', &err), -EINVAL, "is too long");
	CHECK_FAILS(parse_long("t,/", 1000000, '/', &err), -EINVAL, "is /");
	CHECK_FAILS(parse_long("t,/a", 1000000, '\n', &err), -EINVAL, "control character");
}

/* A path of PATH_MAX - 1 bytes is the longest. */
static void test_deep(void **state)
{
	char text[PATH_MAX + 8] = "t,";
	struct wish wish;

	for (size_t i = 2; i < PATH_MAX + 1; i += 2)
		memcpy(text + i, "/a", 3);
	CHECK_FAILS(wish_parse(text, &wish, &err), -EINVAL, "is too long");
	text[PATH_MAX] = 0;
	CHECK_OK(wish_parse(text, &wish, &err));
	assert_int_equal(strlen(wish.path), PATH_MAX - 2);
}

static void assert_text(const char *text, const char *expected)
{
	char found[WISH_TEXT_SIZE];
	struct wish wish;

	CHECK_OK(wish_parse(text, &wish, &err));
	wish_text(&wish, found);
	assert_string_equal(found, expected);
}

static void test_text(void **state)
{
	assert_text("train", "train");
	assert_text("train@v1@x", "train@v1@x");
	assert_text("train,//a,b/", "train,/a,b");
	assert_text("train@v1,/a", "train@v1,/a");
}

static void test_several(void **state)
{
	struct wishes *wishes = calloc(1, sizeof(*wishes));
	char text[16];

	assert_non_null(wishes);
	CHECK_OK(wish_add(wishes, "train", &err));
	CHECK_OK(wish_add(wishes, "train@v1", &err)); /* the same place */
	CHECK_OK(wish_add(wishes, "web,/a", &err));
	CHECK_OK(wish_add(wishes, "train,/a/", &err));
	CHECK_OK(wish_add(wishes, "train,/b", &err));
	CHECK_FAILS(wish_add(wishes, "train@", &err), -EINVAL, "label");
	assert_int_equal(wishes->count, 3);
	assert_string_equal(wishes->items[0].version, "v1");
	assert_string_equal(wishes->items[1].name, "train");
	for (unsigned i = 3; i < WISH_MAX; i++) {
		snprintf(text, sizeof(text), "n%u", i);
		CHECK_OK(wish_add(wishes, text, &err));
	}
	CHECK_FAILS(wish_add(wishes, "more", &err), -E2BIG, "more than 16 data sets");
	CHECK_OK(wish_add(wishes, "n3@v2", &err));
	free(wishes);
}

static void test_site(void **state)
{
	struct site site = SITE_DEFAULT;

	CHECK_OK(site_say(&site, "folder=/d", &err));
	CHECK_OK(site_say(&site, "places=/scratch:/project", &err));
	CHECK_OK(site_say(&site, "timeout=7", &err));
	assert_string_equal(site.folder, "/d");
	assert_string_equal(site.places, "/scratch:/project");
	assert_int_equal(site.timeout, 7);
	CHECK_FAILS(site_say(&site, "control=datasetfsctl", &err), -EINVAL, "'datasetfsctl' is not an absolute path");
	CHECK_FAILS(site_say(&site, "timeout=0", &err), -ERANGE, "expected 1 to 86400");
	CHECK_FAILS(site_say(&site, "place=/x", &err), -EINVAL, "'place=/x': expected folder=");
}

CHECK_MAIN(cmocka_unit_test(test_forms), cmocka_unit_test(test_mistakes), cmocka_unit_test(test_lengths),
	   cmocka_unit_test(test_deep), cmocka_unit_test(test_text), cmocka_unit_test(test_several),
	   cmocka_unit_test(test_site))
