/* SPDX-License-Identifier: MIT */
/* What lies in each of the top folders, which are the classes of many data sets, and how well these are balanced. */
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
/* What follows lies in it, until the next. */
must_check int folders_begin(struct folders *folders, const char *name, uint8_t length, struct error *err);
/* The one with most files first; of equal ones by name. Nothing is added any more. */
void folders_sort(struct folders *folders);
/* Sorted. */
struct folders_balance folders_weigh(const struct folders *folders);
