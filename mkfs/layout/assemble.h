/* SPDX-License-Identifier: MIT */
/* The index section: put together in a temporary file, checked as a reader would, streamed to the volume. */
#pragma once
#include "base/progress.h"
#include "image/version.h"
#include "layout/sequence.h"
#include "output/writer.h"

/* Takes the names. Fills shape and index_length of the version, whose other fields must be there; *ret_fd is the
 * section. */
must_check int assemble_section(const struct sequence *sequence, struct names_writer *names, const struct temp *temp,
				struct version *version, int *ret_fd, struct error *err);
/* Writes what is remembered of the source and fills version->source; nothing, should there be no room in one piece. */
must_check int assemble_memory(struct writer *writer, struct sequence *sequence, struct version *version,
			       struct error *err);
/* Writes the section while it is checked as by a reader; fills index, index_sha256 and digest of the version. */
must_check int assemble_stream(struct writer *writer, const struct temp *temp, int fd, uint64_t volume_end,
			       struct progress *progress, struct version *version, struct error *err);
/* Writes the fine sums and fills version->fine; nothing, should there be no room in one piece. */
must_check int assemble_fine(struct writer *writer, const struct temp *temp, struct sequence *sequence,
			     struct version *version, struct error *err);
