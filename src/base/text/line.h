/* SPDX-License-Identifier: MIT */
/* Ends of the lines in text files that people write. */
#pragma once

/* Cuts "\n" or "\r\n" off the end of a line: editors of Windows write both. A path that really ends in "\r" needs a
 * list with NULs. */
void line_cut(char *line);
