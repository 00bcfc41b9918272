/* SPDX-License-Identifier: MIT */
/* Counts the contents of a version, or of a folder of it, in one walk over its names. Reads only the index. */
#pragma once
#include "base/error.h"
#include "describe/survey/folders.h"
#include "describe/survey/kinds.h"
#include "describe/survey/largest.h"
#include "describe/survey/mixing.h"
#include "describe/survey/storage.h"
#include "image/index.h"

#define SURVEY_SIZES 64u /* classes of sizes; 0: empty files; n: from 2^(n-1) to 2^n - 1 bytes */

struct survey_size {
	uint64_t files, bytes;
};

/* Counters. A file with several names counts once, but in folders and kinds once per name. */
struct survey {
	uint64_t files, bytes, directories, symlinks;
	uint64_t further_names, further_bytes; /* further names of files that have several */
	uint64_t empty_files, sparse_files;
	uint64_t duplicates, duplicate_bytes; /* files that are not empty and equal an earlier one */
	struct survey_size sizes[SURVEY_SIZES];
	struct folders folders;
	struct kinds kinds;
	struct largest largest;
	struct storage storage;
	struct mixing mixing;
};

/* Counts the version, or the directory below unless that is NULL. largest: how many of the largest files to keep. */
must_check int survey_run(const struct index *index, const char *below, size_t largest, struct survey **ret,
			  struct error *err);
void survey_free(struct survey *survey);
