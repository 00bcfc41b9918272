/* SPDX-License-Identifier: MIT */
/* Looks in a version for names and attributes that affect how its whole archive is written. */
#pragma once
#include <stdbool.h>

#include "image/index.h"

struct tar_survey {
	bool has_odd_xattrs; /* some names of attributes are not printable ASCII */
	bool has_cesu;       /* some names or targets have characters that libarchive would rewrite */
};

must_check int tar_survey_make(const struct index *index, struct tar_survey *ret, struct error *err);
/* Returns whether a path is plain UTF-8, without the characters that a survey looks for. */
bool tar_survey_is_utf8(const char *path);
