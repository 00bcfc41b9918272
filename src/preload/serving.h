/* SPDX-License-Identifier: MIT */
/* What hooks of calls on a descriptor begin and end with. */
#pragma once
#include "preload/inside.h"
#include "preload/real.h"

struct serving {
	struct inside inside;
	struct table_entry *entry;
	struct table_file *file; /* the entry's */
	int fd;
};

/* True: the number is a file of ours, and locked. */
bool serving_begin(struct serving *serving, int fd);
/* What was noted of this number is of a file that is not open any more: it is closed, or means something new. For who
 * is not inside. */
void serving_forget(int fd);
/* caller: the file is to be real from now on, and this function needs that; NULL: it was served. False: it cannot be
 * real, and errno is EIO. */
bool serving_end(struct serving *serving, const char *caller);
