/* SPDX-License-Identifier: MIT */
/* Decodes the octal escapes of /proc/self/mountinfo. */
#include "device/mountinfo.h"

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
