/* SPDX-License-Identifier: MIT */
/* Cuts lines in place. */
#include "base/text/line.h"

#include <stddef.h>
#include <string.h>

void line_cut(char *line)
{
	size_t length = strlen(line);

	if (length && line[length - 1] == '\n')
		line[--length] = 0;
	if (length && line[length - 1] == '\r')
		line[--length] = 0;
}
