/* SPDX-License-Identifier: MIT */
/* Decodes lines of /proc/self/mountinfo. */
#include "device/mountinfo.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

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

/* "36 35 0:52 ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS" */
bool mountinfo_parse(char *line, struct mountinfo *ret)
{
	char *before[5], *rest = strstr(line, " - "), *save = NULL;
	unsigned major_number, minor_number;

	if (!rest)
		return false;
	*rest = 0;
	for (int i = 0; i < 5; i++) {
		before[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!before[i])
			return false;
	}
	if (sscanf(before[2], "%u:%u", &major_number, &minor_number) != 2)
		return false;
	*ret = (struct mountinfo){
		.device = makedev(major_number, minor_number),
		.root = before[3],
		.point = before[4],
		.type = strtok_r(rest + 3, " \n", &save),
		.source = strtok_r(NULL, " \n", &save),
		.options = strtok_r(NULL, " \n", &save),
	};
	if (!ret->options)
		return false;
	mountinfo_unescape(ret->root);
	mountinfo_unescape(ret->point);
	mountinfo_unescape(ret->source);
	return true;
}
