/* SPDX-License-Identifier: MIT */
/* Prints the report of verify: lines for people, or one JSON object. Other threads may only call report_progress(). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/json.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "verify/check.h"
#include "verify/damage.h"
#include "verify/selection.h"

enum report_state {
	REPORT_SOUND,
	REPORT_EMPTY, /* never written, which is sound */
	REPORT_DAMAGED,
	REPORT_UNKNOWN, /* could not be checked */
	REPORT_REMOVED, /* damaged, but its version is no longer on the volume */
};

struct report {
	bool is_json;
	bool is_terminal; /* progress is shown */
	struct json json;
	uint64_t damaged;           /* structures and chunks */
	bool is_incomplete;              /* something could not be checked */
	struct check_counts counts; /* of all versions done */
	int64_t start;              /* by clock_now() */
	/* about the version being checked: */
	const char *label;
	int64_t version_start;
	uint64_t version_damaged; /* report->damaged when the version's check began */
	bool version_is_incomplete, version_is_gone;
	uint64_t selected; /* (file, chunk) pairs to come, for the progress */
};

void report_begin(struct report *report, const char *path, bool json);
/* Reports one structure ("superblock slot 3"); err tells why it is not sound and may be NULL. Call it between
 * report_begin() and report_begin_versions(), or at the start of a version. */
void report_part(struct report *report, const char *what, enum report_state state, const struct error *err);
void report_begin_versions(struct report *report, const struct selection_share *share);
void report_begin_version(struct report *report, const struct version *version);
/* Reports the version's damage and counts. All arguments but report are NULL if the version's
 * index could not be used. */
void report_end_version(struct report *report, const struct index *index,
			const struct damage_list *damage, const struct check_counts *counts,
			const struct selection_counts *selection);
/* Prints the summary and returns the exit status. */
int report_end(struct report *report);
void report_progress(void *report, const struct check_counts *counts);
