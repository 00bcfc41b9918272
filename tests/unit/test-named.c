/* SPDX-License-Identifier: MIT */
/* The administrator's file of names: what it gives, and every mistake in it, with its line. */
#include "lib/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/named.h"
#include "base/cleanup.h"

static char file[] = "/tmp/datasetfs-named-XXXXXX";

static void write_file(const char *text)
{
	FILE *out = fopen(file, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void begin(const char *name, struct key *key)
{
	CHECK_OK(named_begin(file, name, key, &err));
}

static void test_fields(void **state)
{
	auto_key struct key plain = { 0 };
	auto_key struct key options = { 0 };
	auto_key struct key blank = { 0 };

	(void)state;
	write_file("# names\n\n train\t/srv/train.dsfs\nweb.v2 uuid:4f21c0de-0000-4000-8000-000000000001   "
		   "prefetch=off,version=v1\r\n  # more\nblank /srv/my\\040set");
	begin("train", &plain);
	assert_string_equal(plain.volume, "/srv/train.dsfs");
	assert_int_equal(plain.count, 0);
	begin("web.v2", &options);
	assert_string_equal(options.label, "v1");
	assert_int_equal(options.count, 1);
	assert_string_equal(options.words[0], "prefetch=off");
	begin("blank", &blank);
	assert_string_equal(blank.volume, "/srv/my set");
}

static void assert_refused(const char *text, int code, const char *reason)
{
	struct key key = { 0 };

	write_file(text);
	CHECK_FAILS(named_begin(file, "train", &key, &err), code, reason);
	assert_null(key.volume);
}

static void test_mistakes(void **state)
{
	(void)state;
	assert_refused("", -ENOENT, "there is no data set 'train' in");
	assert_refused("train2 /v\ntrai /v\n", -ENOENT, "there is no data set 'train'");
	assert_refused("#train /v\n", -ENOENT, "there is no data set 'train'");
	assert_refused("train\n", -EINVAL, "line 1: there is no volume, expected NAME VOLUME [OPTIONS]");
	assert_refused("train /v a b\n", -EINVAL, "line 1: there are more than three fields");
	assert_refused("train /v\n\ntrain /w\n", -EINVAL, "line 3: data set 'train' is there twice");
	assert_refused("train /v\nother\n", -EINVAL, "line 2: there is no volume");
	assert_refused("a@b /v\n", -EINVAL, "line 1: the name of a data set is 'a@b'");
	assert_refused("train v\n", -EINVAL, "expected an absolute one");
	assert_refused("train /v kernel\n", -EINVAL, "option 'kernel'");
	assert_refused("train /v\\012w\n", -EINVAL, "control character");
	assert_refused("train /v follow=current,version=v1\n", -EINVAL, "cannot be combined");
}

static void test_names(void **state)
{
	static const char *const wrong[] = { "", "a@b", "a/b", ".", "..", "-a", "a b", "a,b", "a\nb", "\xc3\xa4" };
	struct key key;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_FAILS(named_begin(file, wrong[i], &key, &err), -EINVAL, "expected 1 to 127 letters");
	CHECK_OK(named_check("imagenet-2026.11_v7+fix:b", &err));
}

static void test_trust(void **state)
{
	struct key key;

	(void)state;
	write_file("train /v\n");
	assert_int_equal(chmod(file, 0664), 0);
	CHECK_FAILS(named_begin(file, "train", &key, &err), -EPERM, "could be changed by others than root");
	assert_int_equal(chmod(file, 0644), 0);
	CHECK_FAILS(named_begin("/nonexistent/datasets.conf", "train", &key, &err), -ENOENT, "what data sets");
}

static int make_file(void **state)
{
	int fd = mkstemp(file);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_trust),
	};

	if (geteuid() != 0)
		return 77; /* the file must be root's */
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
