/* SPDX-License-Identifier: MIT */
/* The administrator's file of names: what it gives, and every mistake in it, with its line. */
#include "lib/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/named.h"

static char file[] = "/tmp/datasetfs-named-XXXXXX";

static void write_file(const char *text)
{
	FILE *out = fopen(file, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static int find(const char *name, struct named *ret, struct error *why)
{
	const struct named *found;
	static struct named_list list;
	int r;

	named_free(&list);
	r = named_read(file, &list, why);
	if (r == 0)
		r = named_find(&list, name, &found, why);
	if (r == 0)
		*ret = *found;
	return r;
}

static void assert_named(const char *name, const char *volume, const char *options)
{
	struct named named;

	CHECK_OK(find(name, &named, &err));
	assert_string_equal(named.volume, volume);
	assert_int_equal(!named.options, !options);
	if (options)
		assert_string_equal(named.options, options);
}

static void test_fields(void **state)
{
	write_file("# names\n\n train\t/srv/train.dsfs\nweb.v2 uuid:4f21c0de-0000-4000-8000-000000000001   "
		   "prefetch=off,version=v1\r\n  # more\nblank /srv/my\\040set # a comment");
	assert_named("train", "/srv/train.dsfs", NULL);
	assert_named("web.v2", "uuid:4f21c0de-0000-4000-8000-000000000001", "prefetch=off,version=v1");
	assert_named("blank", "/srv/my set", NULL);
}

static void assert_refused(const char *text, int code, const char *reason)
{
	struct named named;

	write_file(text);
	CHECK_FAILS(find("train", &named, &err), code, reason);
}

#define LONG "a_name_of_100_bytes_.................................................................................."

static void test_mistakes(void **state)
{
	assert_refused("", -ENOENT, "no data set 'train' on this node, as");
	assert_refused("train2 /v\ntrai /v\n", -ENOENT,
		       "no data set 'train' on this node; available: train2, trai. Ask");
	assert_refused(LONG "1 /v\n" LONG "2 /v\n" LONG "3 /v\n", -ENOENT,
		       "1, " LONG "2, .... Ask your administrator");
	assert_refused("#train /v\n", -ENOENT, "no data set 'train' on this node");
	assert_refused("train\n", -EINVAL, "line 1: there is no volume, expected NAME VOLUME [OPTIONS]");
	assert_refused("train /v a b\n", -EINVAL, "line 1: there are more than three words");
	assert_refused("train /v\na b c d e f g h i\n", -EINVAL, "line 2: there are more than 8 words");
	assert_refused("other /v\n\nother /w\n", -EINVAL, "line 3: data set 'other' is there twice");
	assert_refused("train /v\nother\n", -EINVAL, "line 2: there is no volume");
	assert_refused("a@b /v\n", -EINVAL, "line 1: the name of a data set is 'a@b'");
	assert_refused("train /v\nother v\n", -EINVAL, "line 2: the volume 'v' is a relative path");
}

static void test_names(void **state)
{
	static const char *const wrong[] = {
		"", "a@b", "a/b", ".", "..", "-a", "a b", "a,b", "a:b", "a\nb", "\xc3\xa4", "nvme:uuid:0",
	};
	struct named named;

	write_file("");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_FAILS(find(wrong[i], &named, &err), -EINVAL, "expected 1 to 127 letters");
	CHECK_OK(named_check("imagenet-2026.11_v7+fix", &err));
}

static void test_trust(void **state)
{
	struct named_list list = { 0 };
	struct named named;

	write_file("train /v\n");
	assert_int_equal(chmod(file, 0664), 0);
	CHECK_FAILS(find("train", &named, &err), -EPERM, "has the mode 0664, so others may write it");
	assert_int_equal(chmod(file, 0644), 0);
	CHECK_OK(named_read("/nonexistent/datasets.conf", &list, &err));
	assert_int_equal(list.count, 0);
}

static int make_file(void **state)
{
	int fd = mkstemp(file);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields), cmocka_unit_test(test_mistakes), cmocka_unit_test(test_names),
		cmocka_unit_test(test_trust)
	};

	if (geteuid() != 0)
		return 77; /* the file must be root's */
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
