/* SPDX-License-Identifier: MIT */
/* Lines of the kernel's table of mounts: their fields, escapes, and what is no such line. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "base/mountinfo.h"
#include "base/text/settings.h"
#include "lib/check.h"

#define LINE_SIZE 256

static void test_fields(void **state)
{
	char line[LINE_SIZE] =
		"841 36 259:1048575 /sub /mnt/a rw,nosuid shared:7 master:1 - fuse.datasetfs v@one ro,user_id=0\n";
	struct mountinfo info;

	assert_true(mountinfo_parse(line, &info));
	assert_int_equal(info.id, 841);
	assert_int_equal(info.parent, 36);
	assert_int_equal(info.device, makedev(259, 1048575));
	assert_string_equal(info.root, "/sub");
	assert_string_equal(info.point, "/mnt/a");
	assert_string_equal(info.type, "fuse.datasetfs");
	assert_string_equal(info.source, "v@one");
	assert_string_equal(info.options, "ro,user_id=0");
}

/* A source may be empty, and a line cut off at the end of a read has no newline. */
static void test_escapes(void **state)
{
	char line[LINE_SIZE] = "1 2 0:52 /r\\040oot /a\\040-\\040b\\011\\012\\134 rw - erofs  ro";
	struct mountinfo info;

	assert_true(mountinfo_parse(line, &info));
	assert_string_equal(info.root, "/r oot");
	assert_string_equal(info.point, "/a - b\t\n\\");
	assert_string_equal(info.source, "");
	assert_string_equal(info.options, "ro");
}

/* A word that is written for settings_read() is one word there, and the same. */
static void test_written(void **state)
{
	const char word[] = "#a b\t#\\\r\n=";
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	settings_write(out, word, '\n');
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "\\043a\\040b\\011#\\134\\015\\012=\n");
	text[length - 1] = 0;
	mountinfo_unescape(text);
	assert_string_equal(text, word);
	free(text);
}

static void test_refused(void **state)
{
	static const char *const lines[] = { "", "\n", "1 2 0:52 / /mnt rw", "1 2 0:52 / - fuse v ro",
					     "1 2 0:52 / /mnt rw - fuse", "1 2 0:52 / /mnt rw - fuse v",
					     "1 2 052 / /mnt rw - fuse v ro", "1 2 0:5x / /mnt rw - fuse v ro" };
	struct mountinfo info;
	char line[LINE_SIZE];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		snprintf(line, sizeof(line), "%s", lines[i]);
		assert_false(mountinfo_parse(line, &info));
	}
}

/* The first mount ends it. */
static int see(void *argument, const struct mountinfo *info, struct error *found)
{
	(void)found;
	assert_true(info->id && info->point[0] == '/' && info->type[0]);
	++*(int *)argument;
	return 7;
}

static void test_each(void **state)
{
	struct error err;
	int count = 0;

	assert_int_equal(mountinfo_each(see, &count, &err), 7);
	assert_int_equal(count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
