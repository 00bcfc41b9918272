/* SPDX-License-Identifier: MIT */
/* The numbers that a mount reports of itself, each in one row: its key in stats.json, its family in the metrics, and
 * what it counts. A new one: contrib/HACKING.md. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "serve/serve.h"

struct series {
	const char *key;    /* of datasetfs/control.h */
	const char *family; /* after "datasetfs_" */
	const char *type;   /* "counter" or "gauge" */
	const char *help;   /* without a backslash, a quote or a newline, which would have to be escaped */
	uint64_t (*get)(const struct serve *serve, size_t offset);
	size_t offset;      /* for get() */
};

/* Ends with a key of NULL. */
extern const struct series series_list[];

/* The counter at this offset in struct counters, added up over all threads. */
uint64_t series_sum(const struct serve *serve, size_t offset);
