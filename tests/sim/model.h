/* SPDX-License-Identifier: MIT */
/* Workers that read files of a volume on many members. Each has a route of its own, as each daemon has, and knows only
 * its own reads. What the daemon does around the route is done here as there: another copy after an error
 * (fetch_choose() in src/read/fetch.c), and reads that are left at a member which does not answer while others do. */
#pragma once
#include "histogram.h"
#include "member.h"
#include "read/route.h"

#define MODEL_MEMBERS 24u
#define MODEL_COPIES  3u
#define MODEL_LATE    INT64_C(2000000)    /* ns, of reads that are counted as slow */
#define MODEL_STUCK   INT64_C(1000000000) /* ns, of reads that wait at the end and are counted as stuck */

struct model_setup {
	uint32_t workers, members, copies;
	uint32_t threads; /* of each worker: reads at a time, one after the other; 0: they come by chance */
	double load;      /* without threads: the part of what all members can do */
	int64_t think;    /* ns between two reads of a thread */
	bool leaves;      /* reads that are stuck are read elsewhere */
	int64_t from, to; /* ns, what is counted */
	uint64_t seed;
	struct member_setup member[MODEL_MEMBERS];
};

struct model_result {
	struct histogram took;
	uint64_t files, errors; /* errors: no copy could be read */
	uint64_t reads[MODEL_MEMBERS], extra; /* extra: of files that are being read already */
	uint64_t stuck;
};

/* Ends the program without memory. */
void model_run(const struct model_setup *setup, struct model_result *ret);
