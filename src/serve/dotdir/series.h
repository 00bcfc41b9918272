/* SPDX-License-Identifier: MIT */
/* The table of numbers that a mount reports about itself: a row has the key in stats.json, the family in the metrics,
 * and a description. contrib/HACKING.md says how to add one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "serve/serve.h"

struct series {
	const char *key;    /* key in stats.json, see datasetfs/control.h */
	const char *family; /* name of the metric family, without "datasetfs_" */
	const char *type;   /* "counter" or "gauge" */
	const char *help;   /* without a backslash, a quote or a newline, which would have to be escaped */
	uint64_t (*get)(const struct serve *serve, size_t offset);
	size_t offset;      /* for get() */
};

/* All numbers; the last row has a key of NULL. */
extern const struct series series_list[];

/* The counter at this offset in struct counters, added up over all threads. */
uint64_t series_sum(const struct serve *serve, size_t offset);
/* The device reads of a class that began, which is demand or ahead. */
uint64_t series_window_reads(const struct serve *serve, enum window_class class);
/* How many device reads may be under way; 0: no limit. */
double series_window(const struct serve *serve, enum window_class class);
