/* SPDX-License-Identifier: MIT */
/* Owns the beginning and the end of each hook of a call on a descriptor. */
#pragma once
#include "preload/process/inside.h"
#include "preload/table/real.h"

struct serving {
	struct inside inside;
	struct table_entry *entry;
	struct table_file *file; /* the entry's */
	int fd;
};

/* Enters and locks the number's file; false: the number is no file of ours, and nothing is held. */
bool serving_begin(struct serving *serving, int fd);
/* Forgets the file of a number that was closed, or means something new. For callers that are not inside. */
void serving_forget(int fd);
/* Unlocks and leaves. caller: the name of a function that needs the file made real first; NULL: the call was served.
 * False: it cannot be made real, and errno is EIO. */
bool serving_end(struct serving *serving, const char *caller);
