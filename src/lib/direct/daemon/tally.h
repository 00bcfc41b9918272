/* SPDX-License-Identifier: MIT */
/* Counts a thread's reads past the mount, and their failures, and reports them to the mount's daemon. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "read/reader.h"

struct link;
struct view;

struct tally {
	uint64_t files, bytes, failures; /* of callers' reads */
	uint64_t told[CLIENT_COUNTS];  /* already reported, of these and of the reader's counters */
};

/* Counts a read of the caller's that ended with this many bytes or a negative errno. */
void tally_count(struct tally *tally, int64_t result);
/* Reports new counts: at once when something went wrong, otherwise now and then and when is_last. link NULL: does
 * nothing. view: the borrowed cache, or NULL. */
void tally_tell(struct tally *tally, const struct reader_counters *counters, const struct link *link,
		struct view *view, bool is_last);
