/* SPDX-License-Identifier: MIT */
/* Lays out attributes and links below a folder in /tmp. */
#include "lib/sysfs_tree.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/check.h"

char sysfs_root[] = "/tmp/datasetfs-unit-XXXXXX";

static void sysfs_path(const char *attribute, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/class/nvme-subsystem/%s", sysfs_root, attribute);
}

void sysfs_write(const char *attribute, const char *value)
{
	char path[PATH_MAX], directory[PATH_MAX];
	FILE *file;

	sysfs_path(attribute, path);
	for (char *c = path + strlen(sysfs_root) + 1; *c; c++) {
		if (*c != '/')
			continue;
		snprintf(directory, sizeof(directory), "%.*s", (int)(c - path), path);
		mkdir(directory, 0755);
	}
	if (!strncmp(value, "-> ", 3)) {
		assert_int_equal(symlink(value + 3, path), 0);
		return;
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", value);
	fclose(file);
}

void sysfs_drop(const char *attribute)
{
	char path[PATH_MAX];

	sysfs_path(attribute, path);
	assert_int_equal(unlink(path), 0);
}

void sysfs_add(const char *name)
{
	auto_free char *line = NULL;
	char path[PATH_MAX];
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), SYSFS_RECORDED "/%s", name);
	file = fopen(path, "r");
	assert_non_null(file);
	while (getline(&line, &size, file) > 0) {
		char *value = strchr(line, ' ');

		line[strcspn(line, "\n")] = 0;
		if (line[0] == '#' || !value)
			continue;
		*value++ = 0;
		sysfs_write(line, value);
	}
	fclose(file);
}

int sysfs_tree(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(sysfs_root));
	sysfs_add("nvme.sysfs");
	return 0;
}

static int sysfs_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int sysfs_remove(void **state)
{
	(void)state;
	return nftw(sysfs_root, sysfs_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
