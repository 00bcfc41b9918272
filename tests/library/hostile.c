/* SPDX-License-Identifier: MIT */
/* A mount that says it is one of datasetfs, and lies. usage: MODE=… hostile MOUNTPOINT [FUSE OPTIONS]
 *
 * The root has file (id 2), folder (id 3) with below (id 4), and what MODE adds:
 *   text       the label has no end             result             a question is answered with 7
 *   label      the label leads elsewhere        sequence, inodes   numbers that cannot be
 *   crowd      more versions than fit           again              the same versions at each question
 *   number     stranger, with an id of no file  type               a FIFO
 *   link       links out of the mount           loop               folder has itself in it
 *   endless    folder has no last entry         fickle             file is another file at each look
 *   outside    .datasetfs/versions/v1 is a link to /
 *   grows      file is larger at each look */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "datasetfs/control.h"

#define ROOT  (UINT64_C(1) << 40)
#define ALIKE UINT64_C(1000000000)

static const char *mode;

static int is_mode(const char *name)
{
	return !strcmp(mode, name);
}

static struct dsfs_version_facts version(void)
{
	struct dsfs_version_facts facts = { .label = "v1", .sequence = 1, .files = 2, .bytes = 8, .inodes = 9 };

	if (is_mode("text"))
		memset(facts.label, 'x', sizeof(facts.label));
	if (is_mode("label"))
		strcpy(facts.label, "../../..");
	if (is_mode("sequence"))
		facts.sequence = ROOT;
	if (is_mode("inodes"))
		facts.inodes = ROOT;
	if (is_mode("endless"))
		facts.inodes = 1000 * ALIKE;
	return facts;
}

static int answer(const char *path, int command, void *argument, struct fuse_file_info *info, unsigned flags,
		  void *data)
{
	struct dsfs_version_list *list = data;

	(void)argument;
	(void)info;
	(void)flags;
	if (strcmp(path, "/.datasetfs/control") != 0)
		return -ENOTTY;
	if ((unsigned)command == DSFS_IOC_VERSION) {
		*(struct dsfs_version_facts *)data = version();
	} else if ((unsigned)command == DSFS_IOC_VERSIONS) {
		list->count = is_mode("crowd") ? UINT32_MAX : DSFS_VERSION_LIST_MOST;
		for (unsigned i = 0; i < DSFS_VERSION_LIST_MOST; i++) {
			list->versions[i] = version();
			list->versions[i].sequence = i + 1;
		}
	} else {
		return -ENOTTY;
	}
	return is_mode("result") ? 7 : 0;
}

static struct stat file(uint64_t number, mode_t type, size_t size)
{
	return (struct stat){ .st_ino = ROOT + number, .st_mode = type | 0755, .st_nlink = 1, .st_size = (off_t)size };
}

static int get(const char *path, struct stat *st, struct fuse_file_info *info)
{
	static uint64_t looks;
	const char *name = strrchr(path, '/') + 1;

	(void)info;
	if (!strcmp(path, "/"))
		*st = (struct stat){ .st_ino = 1, .st_mode = S_IFDIR | 0755, .st_nlink = 2 };
	else if (!strcmp(path, "/.datasetfs") || (!strcmp(path, "/.datasetfs/versions") && is_mode("outside")))
		*st = (struct stat){ .st_ino = 5, .st_mode = S_IFDIR | 0755, .st_nlink = 2 };
	else if (!strcmp(path, "/.datasetfs/version") || !strcmp(path, "/.datasetfs/control"))
		*st = (struct stat){ .st_ino = name[1] == 'e' ? 6 : 7, .st_mode = S_IFREG | 0444, .st_nlink = 1 };
	else if (!strcmp(name, "v1") && is_mode("outside"))
		*st = file(1, S_IFLNK, 1);
	else if (!strcmp(path, "/file"))
		*st = file(is_mode("fickle") ? 2 + ++looks % 2 * 2 : 2, S_IFREG, is_mode("grows") ? 4096 * ++looks : 4);
	else if (!strcmp(name, "folder"))
		*st = file(3, S_IFDIR, 0);
	else if (!strcmp(name, "below"))
		*st = file(4, S_IFREG, 4);
	else if (!strcmp(name, "stranger") && is_mode("number"))
		*st = file(ROOT, S_IFREG, 4);
	else if (!strcmp(name, "fifo") && is_mode("type"))
		*st = file(5, S_IFIFO, 0);
	else if ((!strcmp(name, "out") || !strcmp(name, "absolute")) && is_mode("link"))
		*st = file(name[0] == 'o' ? 5 : 6, S_IFLNK, 3);
	else
		return -ENOENT;
	return 0;
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
		enum fuse_readdir_flags flags)
{
	static const char *const extra[][2] = {
		{ "number", "stranger" }, { "type", "fifo" }, { "link", "out" }, { "link", "absolute" },
	};
	char name[40];
	struct stat st;

	(void)info;
	(void)flags;
	if (is_mode("endless") && !strcmp(path, "/folder")) {
		do {
			snprintf(name, sizeof(name), "%030jd", (intmax_t)offset);
			st = file(ALIKE + (uint64_t)offset, S_IFREG, 0);
		} while (!fill(buffer, name, &st, ++offset, 0));
		return 0;
	}
	if (!strcmp(path, "/folder") || strstr(path, "/folder/")) {
		st = file(is_mode("loop") ? 3 : 4, is_mode("loop") ? S_IFDIR : S_IFREG, 0);
		return fill(buffer, is_mode("loop") ? "folder" : "below", &st, 0, 0);
	}
	st = file(2, S_IFREG, 4);
	fill(buffer, "file", &st, 0, 0);
	st = file(3, S_IFDIR, 0);
	fill(buffer, "folder", &st, 0, 0);
	for (size_t i = 0; i < sizeof(extra) / sizeof(*extra); i++) {
		snprintf(name, sizeof(name), "/%s", extra[i][1]);
		if (is_mode(extra[i][0]) && get(name, &st, NULL) == 0)
			fill(buffer, extra[i][1], &st, 0, 0);
	}
	return 0;
}

static int follow(const char *path, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s", strstr(path, "out") ? "../.." : "/");
	return 0;
}

static int contents(const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *info)
{
	static const char text[] = "lie\n";
	size_t length = strlen(text);

	(void)info;
	if (is_mode("grows") && !strcmp(path, "/file")) {
		memset(buffer, ' ', size);
		return (int)size;
	}
	if ((size_t)offset >= length)
		return 0;
	length -= (size_t)offset;
	memcpy(buffer, text + offset, length < size ? length : size);
	return (int)(length < size ? length : size);
}

static void *begin(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->use_ino = 1;
	config->entry_timeout = config->attr_timeout = 0;
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct fuse_operations operations = {
		.getattr = get, .readdir = list, .readlink = follow, .read = contents, .init = begin,
		.ioctl = answer,
	};

	mode = getenv("MODE");
	return fuse_main(argc, argv, &operations, NULL);
}
