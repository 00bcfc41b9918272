/* SPDX-License-Identifier: MIT */
/* What a thread reads and what goes wrong, and that the daemon of the mount hears of it: the reads do not pass it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "handover/handover.h"
#include "read/reader.h"

struct link;

struct tally {
	uint64_t files, bytes, failures; /* of callers' reads */
	uint64_t told[HANDOVER_COUNTS];  /* of these and the reader's counters */
};

/* A read of the caller's has ended, with this many bytes or a negative errno. */
void tally_count(struct tally *tally, int64_t result);
/* Tells what is new: at once when something went wrong, else now and then, or when it is the last time. link NULL:
 * there is nobody to tell. */
void tally_tell(struct tally *tally, const struct reader_counters *counters, const struct link *link, bool is_last);
