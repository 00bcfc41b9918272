/* SPDX-License-Identifier: MIT */
/* Keeps the largest of many files, and only those, in memory. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct largest_file {
	uint64_t size;
	uint64_t number; /* order of adding, in which files of one size are sorted */
	char *path;
	size_t length;
};

struct largest {
	struct largest_file *files; /* a heap with the smallest on top, until largest_sort() */
	size_t count, room, most;
	uint64_t added;
};

void largest_open(struct largest *largest, size_t most);
void largest_close(struct largest *largest); /* accepts a zeroed one */
must_check int largest_add(struct largest *largest, uint64_t size, const char *path, size_t length, struct error *err);
/* Sorts the largest first. Nothing can be added afterwards. */
void largest_sort(struct largest *largest);
