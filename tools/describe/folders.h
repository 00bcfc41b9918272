/* SPDX-License-Identifier: MIT */
/* Counts what each top folder holds, and how even that is: in many data sets the top folders are the classes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct folder {
	char *name;
	uint8_t length;
	uint64_t files, bytes, symlinks; /* by names, at any depth */
};

struct folders {
	struct folder *list; /* by name, until folders_sort() */
	size_t count, room;
	struct folder outside; /* what lies in no folder */
};

/* Of those that have files. */
struct folders_balance {
	size_t count, empty; /* folders with files, and without */
	const struct folder *smallest, *largest; /* NULL when there is none */
	double median, ratio; /* files; largest to smallest */
};

void folders_close(struct folders *folders); /* a zeroed one as well */
/* Files that are added from now on lie in this folder, until the next call. */
must_check int folders_begin(struct folders *folders, const char *name, uint8_t length, struct error *err);
/* Sorts by number of files, the most first, then by name. Nothing can be added afterwards. */
void folders_sort(struct folders *folders);
/* Sorted. */
struct folders_balance folders_weigh(const struct folders *folders);
