/* SPDX-License-Identifier: MIT */
/* Cuts the bytes of a volume that hold content into windows: rows of groups, or the segments of its only member. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/catalogue.h"

#define ROWS_WINDOW (UINT64_C(2) << 20)

struct rows_range {
	uint64_t address; /* of a data column, if the volume has groups */
	uint64_t length;
	uint64_t first;   /* number of its first window */
};

/* Ranges in the order of addresses. */
struct rows {
	struct rows_range *list;
	uint32_t count;
	uint64_t windows;
	uint64_t bytes, protected_bytes; /* bytes of one copy; the part that has another copy */
};

struct rows_window {
	uint64_t address, length;
};

/* Finds the ranges. size: bytes of the only member of a volume without groups. */
must_check int rows_open(const struct catalogue *catalogue, uint64_t size, struct rows *ret, struct error *err);
void rows_close(struct rows *rows);
struct rows_window rows_window(const struct rows *rows, uint64_t number);
/* Returns the number of the window with this byte, which may be one of a copy; rows->windows: no window has it. */
uint64_t rows_find(const struct rows *rows, const struct members *members, uint64_t address);
