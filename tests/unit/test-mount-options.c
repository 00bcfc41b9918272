/* SPDX-License-Identifier: MIT */
/* The mount options: defaults, words and their opposites, refusals, and the options that name files. */
#include "lib/check.h"

#include <errno.h>
#include <unistd.h>

#include "options/mount_options.h"

static struct mount_options options;

static int set(const char *text, struct error *err)
{
	static char word[64];

	snprintf(word, sizeof(word), "%s", text);
	return mount_options_set(&options, word, err);
}

static void test_defaults(void **state)
{
	mount_options_init(&options);
	assert_true(options.read.verify && options.read.wait && options.window);
	assert_int_equal(options.read.deadline, 300);
	assert_int_equal(options.ahead, 16 << 20);
	assert_int_equal(options.prefetch, 256 << 20);
	assert_int_equal(options.allow_other, geteuid() == 0);
	CHECK_OK(mount_options_check(&options, &err));
}

static void test_words(void **state)
{
	mount_options_init(&options);
	CHECK_OK(set("noversions", &err));
	assert_true(options.noversions);
	assert_null(options.daemon_word);
	CHECK_OK(set("versions", &err));
	assert_false(options.noversions);
	assert_string_equal(options.daemon_word, "versions");
	CHECK_OK(set("follow=current", &err));
	assert_int_equal(options.follow, 5);
	CHECK_OK(set("follow=current:7", &err));
	assert_int_equal(options.follow, 7);
	CHECK_OK(set("nofail", &err));
	CHECK_OK(set("x-systemd.automount=1", &err));
	CHECK_FAILS(set("nofail=1", &err), -EINVAL, "mount option 'nofail' takes no value");
	CHECK_FAILS(set("noidmap", &err), -EINVAL, "-o noidmap: unknown; did you mean idmap?");
	CHECK_FAILS(set("noversoins", &err), -EINVAL, "-o noversoins: unknown; did you mean noversions?");
	CHECK_FAILS(set("versions=1", &err), -EINVAL, "mount option 'versions' takes no value");
	CHECK_FAILS(set("cache=", &err), -EINVAL, "mount option 'cache' needs a value");
	CHECK_FAILS(set("io=fast", &err), -EINVAL,
		    "mount option 'io': 'fast' is not one of 'auto', 'uring', 'threads'");
	CHECK_FAILS(set("rw", &err), -EINVAL, "mount option 'rw': a mounted version is read-only");
	options.ignores_rw = true;
	CHECK_OK(set("rw", &err));
}

static void test_files(void **state)
{
	assert_true(mount_options_names_file("cache=x"));
	assert_true(mount_options_names_file("trust"));
	assert_true(mount_options_names_file("revoked=/x"));
	assert_false(mount_options_names_file("cache_fill=warm"));
	assert_false(mount_options_names_file("version=v1"));
	assert_false(mount_options_names_file(""));
}

CHECK_MAIN(cmocka_unit_test(test_defaults), cmocka_unit_test(test_words), cmocka_unit_test(test_files))
