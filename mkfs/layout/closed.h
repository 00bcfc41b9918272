/* SPDX-License-Identifier: MIT */
/* Counts the files and folders of the new version that other users than their owner and group may not open. */
#pragma once
#include "layout/records.h"

struct closed {
	uint32_t root;       /* mode of the top folder if it is closed, else 0 */
	uint64_t count, all; /* files and folders */
};

/* Counts after the last item. Reads the inodes only if some are closed. */
struct closed closed_count(const struct records *records);
