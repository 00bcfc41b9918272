/* SPDX-License-Identifier: MIT */
/* Prints the findings of scrub, as lines for people or one JSON object, and sets the exit status. Any thread may add
 * findings. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/json.h"
#include "image/catalogue/catalogue.h"
#include "image/sums/sum.h"
#include "scrub/rows.h"

enum finding_state {
	FINDING_DAMAGED,  /* another copy is right, and this one was left as it is */
	FINDING_REPAIRED, /* it was wrong, and was made right */
	FINDING_FAILED,   /* repairing it failed */
	FINDING_LOST,     /* no copy is right */
	FINDING_UNKNOWN,  /* it could not be judged */
};

/* A place on a member, or a structure of one. */
struct finding {
	enum finding_state state;
	const char *what;      /* "chunk", "superblock slot 3 of member 1" */
	uint32_t member;
	uint64_t offset, length; /* length 0: the finding is about a structure */
	const char *version;   /* NULL: none */
	const struct sum *sum; /* of a chunk; NULL for anything else */
	bool has_from;
	uint32_t from;         /* member with the right copy */
	const char *reason;
};

#define FINDINGS_SHOWN 1000u /* most lines of places; the rest is counted */
#define FINDINGS_LOST  1000u /* most lost chunks whose files are looked for */

struct findings {
	bool is_json, is_terminal;
	struct json json;
	pthread_mutex_t lock; /* guards all fields below */
	uint64_t states[FINDING_UNKNOWN + 1];
	uint64_t shown;
	uint64_t bytes, total; /* bytes of one copy: read so far, and in all */
	uint64_t lost[FINDINGS_LOST]; /* device addresses of chunks, in data columns */
	uint32_t lost_count;
	int64_t start;
};

struct findings_summary {
	const struct rows *rows;
	uint64_t members;
	bool repair, interrupted, changed;
	bool has_next;
	uint64_t next; /* device address at which the next run continues */
};

void findings_begin(struct findings *findings, const char *path, bool repair, bool json);
/* Begins the list of places, after that of structures. total: bytes of one copy to be read. */
void findings_begin_places(struct findings *findings, uint64_t total);
/* Begins the list of files, after that of places. */
void findings_begin_files(struct findings *findings);
void findings_add(struct findings *findings, const struct finding *finding);
/* Notes a chunk without any right copy, so that its files are looked for. */
void findings_lose(struct findings *findings, uint64_t address);
void findings_file(struct findings *findings, const char *path, const char *version, uint64_t position,
		   uint64_t address);
void findings_advance(struct findings *findings, uint64_t bytes);
/* Shows the progress, if standard error is a terminal. */
void findings_progress(struct findings *findings);
/* Prints the summary and returns the exit status. */
int findings_end(struct findings *findings, const struct findings_summary *summary);
