/* SPDX-License-Identifier: MIT */
/* Begins and ends each hook for a call on a descriptor. */
#pragma once
#include "preload/files/real.h"
#include "preload/process/inside.h"

struct serving {
	struct inside inside;
	struct table_entry *entry;
	struct table_file *file; /* the entry's */
	int fd;
};

/* Enters our code (inside.h) and locks the entry of fd; false: fd is no file of ours, and nothing is held. */
bool serving_begin(struct serving *serving, int fd);
/* Forgets the file of a descriptor that was closed or reused. For callers that are not inside. */
void serving_forget(int fd);
/* Unlocks the entry and leaves our code. caller: the name of a function that needs the file made real first; NULL: the
 * call was served. False: the file cannot be made real, and errno is EIO. */
bool serving_end(struct serving *serving, const char *caller);
