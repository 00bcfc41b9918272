/* SPDX-License-Identifier: MIT */
/* Comparing the same sequences on two sides. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct options {
	uint64_t seed, count;
	const char *skip;    /* numbers of calls, with commas */
	const char *preload; /* into the second side, or NULL */
	bool with_log, is_warm;
	bool are_cases; /* the numbers are not seeds, but fixed sequences */
};

/* 0: all sequences of both tops are alike; 1: one is not, and it is shown. */
int compare_main(char **tops, const struct options *options);
