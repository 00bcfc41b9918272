/* SPDX-License-Identifier: MIT */
/* Builds the index section in a temporary file, checks it as a mount would, and streams it to the volume. */
#pragma once
#include "base/program/progress.h"
#include "content/stat_cache_writer.h"
#include "image/catalogue/version.h"
#include "layout/records.h"
#include "output/writer.h"

/* The version whose sections are assembled, and where these go. */
struct assemble {
	struct version *version;
	struct writer *writer;
	const struct temp *temp;
	struct progress *progress;
};

/* Builds the section in a temporary file, *ret_fd. Takes ownership of names. Fills shape and index.length of the
 * version. Its other fields must be set. */
must_check int assemble_section(const struct assemble *assemble, const struct records *records,
				struct names_writer *names, int *ret_fd, struct error *err);
/* Writes the stat cache and fills version->source; leaves both out if there is no contiguous room for it. */
must_check int assemble_stat_cache(const struct assemble *assemble, struct stat_cache_writer *stat_cache,
				   const struct filesystem *filesystem, struct error *err);
/* Writes the section while a thread checks it against the members as they are now; fills index and digest
 * of the version. */
must_check int assemble_stream(const struct assemble *assemble, int fd, uint64_t volume_end,
			       const struct members *members, struct error *err);
/* Writes the block checksums and fills version->block_sums; leaves both out if there is no contiguous room for them. */
must_check int assemble_sums(const struct assemble *assemble, struct records *records, struct error *err);
