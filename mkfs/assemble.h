/* SPDX-License-Identifier: MIT */
/* The index section: put together in a temporary file, checked as a reader would, streamed to the volume. */
#pragma once
#include "image/index.h"
#include "progress.h"
#include "sequence.h"
#include "writer.h"

/* Takes the names. Fills shape, index_length, index_sha256 and digest of the version, whose other fields must be
 * there; *ret_fd is the section. */
must_check int assemble_section(const struct sequence *sequence, struct index_writer *names, const struct temp *temp,
				uint64_t volume_end, struct version *version, int *ret_fd, struct error *err);
/* Writes what is remembered of the source and fills version->source; nothing, should there be no room in one piece. */
must_check int assemble_memory(struct writer *writer, struct sequence *sequence, struct version *version,
			       struct error *err);
/* Writes the section and fills version->index. */
must_check int assemble_stream(struct writer *writer, const struct temp *temp, int fd, struct progress *progress,
			       struct version *version, struct error *err);
/* Writes the fine sums and fills version->fine; nothing, should there be no room in one piece. */
must_check int assemble_fine(struct writer *writer, const struct temp *temp, struct sequence *sequence,
			     struct version *version, struct error *err);
