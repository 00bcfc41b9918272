/* SPDX-License-Identifier: MIT */
/* Reports good news once for many files, as a report is a system call. */
#include "lib/direct/daemon/tally.h"

#include <string.h>

#include "lib/direct/daemon/link.h"

#define TALLY_FILES 4096u /* files between two reports, unless there is trouble */

void tally_count(struct tally *tally, int64_t result)
{
	if (result < 0) {
		tally->failures++;
		return;
	}
	tally->files++;
	tally->bytes += (uint64_t)result;
}

static void tally_take(const struct tally *tally, const struct reader_counters *counters,
		       uint64_t counts[CLIENT_COUNTS])
{
	counts[CLIENT_FILES] = tally->files;
	counts[CLIENT_BYTES] = tally->bytes;
	counts[CLIENT_CHECKSUM_FAILURES] = atomic_load_explicit(&counters->checksum_failures, memory_order_relaxed);
	counts[CLIENT_DEVICE_ERRORS] = atomic_load_explicit(&counters->device_errors, memory_order_relaxed);
	counts[CLIENT_READ_FAILURES] = tally->failures;
	counts[CLIENT_DEVICE_READS] = atomic_load_explicit(&counters->device_reads, memory_order_relaxed);
	counts[CLIENT_LOCAL_HITS] = atomic_load_explicit(&counters->local_hits, memory_order_relaxed);
	counts[CLIENT_LOCAL_BYTES] = atomic_load_explicit(&counters->local_bytes, memory_order_relaxed);
	counts[CLIENT_LOCAL_ERRORS] = atomic_load_explicit(&counters->local_errors, memory_order_relaxed);
}

static bool tally_is_due(const uint64_t counts[CLIENT_COUNTS], bool is_last)
{
	uint64_t trouble =
		counts[CLIENT_CHECKSUM_FAILURES] + counts[CLIENT_DEVICE_ERRORS] + counts[CLIENT_READ_FAILURES];

	return trouble || counts[CLIENT_FILES] >= (is_last ? 1 : TALLY_FILES);
}

void tally_tell(struct tally *tally, const struct reader_counters *counters, const struct link *link,
		struct view *view, bool is_last)
{
	uint64_t counts[CLIENT_COUNTS];

	if (!link)
		return;
	tally_take(tally, counters, counts);
	for (unsigned i = 0; i < CLIENT_COUNTS; i++)
		counts[i] -= tally->told[i];
	if (!tally_is_due(counts, is_last))
		return;
	if (!link_report(link, counts, view))
		return;
	for (unsigned i = 0; i < CLIENT_COUNTS; i++)
		tally->told[i] += counts[i];
}
