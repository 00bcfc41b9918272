/* SPDX-License-Identifier: MIT */
/* Measures how many reads and bytes a second the members of a volume give this machine. It only reads. */
#pragma once
#include "base/error.h"
#include "describe/common/subject.h"

#define GAUGE_TIME INT64_C(9000000000) /* ns for all members, but for the last reads of each step */

/* The slowest member's figures. A read of n bytes takes it 1/iops + n/bandwidth. */
struct gauge {
	double iops, bandwidth; /* bandwidth INFINITY: large reads took no longer than small ones */
	double latency; /* s, of a small read that waits for no other */
};

/* Reads random places where the version lies, 4 KiB and 1 MiB at a time, with more and more reads under way until they
 * take twice as long as one alone and more of them bring little more; what counts is measured then. */
must_check int gauge_run(const struct subject *subject, struct gauge *ret, struct error *err);
