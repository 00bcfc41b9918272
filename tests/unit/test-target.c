/* SPDX-License-Identifier: MIT */
/* Names by which a hostile volume would write elsewhere: they are refused, and nothing is made. */
#include "lib/check.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "extract/target.h"

static char folder[] = "/tmp/test-target-XXXXXX";

static unsigned count_entries(void)
{
	DIR *dir = opendir(folder);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void test_names(void **state)
{
	static const char *const paths[] = {
		"./..", "./../evil", "./.", "./a/../../evil", "./a/./b", "./a/..", "./", "./a//b", "./a/",
	};
	const struct inode file = { .mode = S_IFREG | 0644, .nlink = 1 };
	const struct inode directory = { .mode = S_IFDIR | 0755, .nlink = 2 };
	const struct target_setup setup = { .directory = folder, .force = true };
	struct target *target;

	CHECK_OK(target_open(&setup, &target, &err));
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct stream_entry entry = { .path = paths[i], .inode = &file };
		const struct stream_entry same = { .path = paths[i], .inode = &directory };
		const struct stream_entry link = { .path = "./link", .link = paths[i], .inode = &file };

		CHECK_FAILS(target_taker.head(target, &entry, &err), -EBADMSG, "a name in it is none");
		CHECK_FAILS(target_taker.head(target, &same, &err), -EBADMSG, "a name in it is none");
		CHECK_FAILS(target_taker.head(target, &link, &err), -EBADMSG, "a name in it is none");
	}
	assert_int_equal(count_entries(), 0);
	target_close(target);
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	return rmdir(folder);
}

CHECK_MAIN_WITH(make_folder, remove_folder, cmocka_unit_test(test_names))
