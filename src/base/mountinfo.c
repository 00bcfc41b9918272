/* SPDX-License-Identifier: MIT */
/* Reads and decodes /proc/PID/mountinfo. The only parser of it: the preloaded library calls mountinfo_parse() for a
 * program that may not be ready to allocate, so mountinfo_parse() allocates nothing. */
#include "base/mountinfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

void mountinfo_unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; out++) {
		if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] && in[3]) {
			*out = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = 0;
}

static bool mountinfo_device(const char *text, dev_t *ret)
{
	char *end;
	unsigned long major_number = strtoul(text, &end, 10), minor_number;

	if (*end != ':')
		return false;
	minor_number = strtoul(end + 1, &end, 10);
	*ret = makedev(major_number, minor_number);
	return !*end;
}

/* A line is "36 35 0:52 ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS". */
bool mountinfo_parse(char *line, struct mountinfo *ret)
{
	char *before[5], *after[3], *rest = strstr(line, " - "), *save = NULL;
	dev_t device;

	if (!rest)
		return false;
	*rest = 0;
	rest += 3;
	for (int i = 0; i < 5; i++) {
		before[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!before[i])
			return false;
	}
	for (int i = 0; i < 3; i++) { /* strsep(), as a source may be empty */
		after[i] = strsep(&rest, " \n");
		if (!after[i])
			return false;
	}
	if (!mountinfo_device(before[2], &device))
		return false;
	*ret = (struct mountinfo){
		.id = strtoull(before[0], NULL, 10),
		.parent = strtoull(before[1], NULL, 10),
		.device = device,
		.root = before[3],
		.point = before[4],
		.type = after[0],
		.source = after[1],
		.options = after[2],
	};
	mountinfo_unescape(ret->root);
	mountinfo_unescape(ret->point);
	mountinfo_unescape(ret->source);
	return true;
}

#define MOUNTINFO_BUFFER 4096 /* the kernel hands out no more at a time, and stdio would ask for a quarter */

static int mountinfo_read(const char *path, mountinfo_visit *visit, void *argument, struct error *err)
{
	char buffer[MOUNTINFO_BUFFER];
	auto_fclose FILE *file = fopen(path, "re");
	auto_free char *line = NULL;
	struct mountinfo info;
	size_t size = 0;
	int r = 0;

	if (!file)
		return error_errno(err, "cannot open '%s'", path);
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	while (r == 0 && getline(&line, &size, file) >= 0)
		if (mountinfo_parse(line, &info))
			r = visit(argument, &info, err);
	return r;
}

int mountinfo_each(mountinfo_visit *visit, void *argument, struct error *err)
{
	return mountinfo_read("/proc/self/mountinfo", visit, argument, err);
}

int mountinfo_each_of_first(mountinfo_visit *visit, void *argument, struct error *err)
{
	return mountinfo_read("/proc/1/mountinfo", visit, argument, err);
}
