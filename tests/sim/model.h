/* SPDX-License-Identifier: MIT */
/* Workers that read files of a volume on many members. Each has a route and a window of its own, as each daemon has,
 * and knows only its own reads. What the daemon does around them is done here as there: another copy after an error
 * (fetch_choose() in src/read/fetch.c), reads that are left at a member which does not answer while others do, and
 * reads that wait for the window. */
#pragma once
#include "histogram.h"
#include "member.h"
#include "order.h"
#include "tier.h"

#define MODEL_MEMBERS 24u
#define MODEL_COPIES  3u
#define MODEL_EPOCHS  64u
#define MODEL_FULL    0.99
#define MODEL_LATE    INT64_C(2000000)    /* ns, of reads that are counted as slow */
#define MODEL_STUCK   INT64_C(1000000000) /* ns, of reads that wait at the end and are counted as stuck */

struct model_setup {
	uint32_t workers, members, copies;
	uint32_t threads; /* of each worker: reads at a time, one after the other; 0: they come by chance */
	uint32_t heavy, heavier; /* the first workers, that have so many times the threads */
	uint32_t background, behind; /* further workers, which warm, scrub or verify with so many reads at a time */
	uint64_t bytes;   /* of a file */
	double load;      /* without threads: the part of what all members can do */
	int64_t think;    /* ns between two reads of a thread */
	int64_t comes;    /* ns that the network of a worker is busy with a read; 0: no limit */
	bool leaves;      /* reads that are stuck are read elsewhere */
	bool windows, hedges;
	int64_t from, to; /* ns, what is counted */
	uint64_t seed;
	struct member_setup member[MODEL_MEMBERS];
	struct order_setup order;  /* without files: each read is of some file */
	int64_t changes;  /* ns from version to version of the data set; 0: there is one */
	double changed;   /* the part of its files that have other contents each time */
	struct tier_setup tier;
	struct member_setup drive; /* that a tier is on */
};

/* An epoch, which each worker begins by itself. */
struct model_epoch {
	uint32_t workers;       /* that have ended it */
	double rate;            /* files a second, of all of these */
	uint64_t files, hits, written; /* written: bytes, while it lasted */
};

/* Counted of the workers that are not in the background, but for background. */
struct model_result {
	struct histogram took, light; /* light: of workers that are not heavy */
	uint64_t files, errors; /* errors: no copy could be read */
	uint64_t reads[MODEL_MEMBERS], extra; /* extra: of files that are being read already */
	uint64_t hedges;        /* of them, as a read was late */
	uint64_t hits;          /* of tiers; what follows is counted from the beginning */
	uint64_t dropped, wrong, written;
	double fills;           /* ns until a tier has MODEL_FULL of what it will, mean; INFINITY: not all have */
	double held;            /* the part of all files that a tier holds at the end, mean */
	struct model_epoch epochs[MODEL_EPOCHS];
	uint64_t background;    /* reads */
	uint64_t stuck;
	double fairness;        /* Jain's index of the files of each worker */
};

/* Ends the program without memory. */
void model_run(const struct model_setup *setup, struct model_result *ret);
