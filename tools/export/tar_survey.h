/* SPDX-License-Identifier: MIT */
/* What a version has that decides how all of its archive is written. */
#pragma once
#include <stdbool.h>

#include "image/index.h"

struct tar_survey {
	bool has_odd_xattrs; /* names of attributes that are not printable ASCII */
	bool has_cesu;       /* names or targets with characters that libarchive would write in another way */
};

must_check int tar_survey_make(const struct index *index, struct tar_survey *ret, struct error *err);
/* Whether a path is UTF-8 as it stands, without what a survey looks for. */
bool tar_survey_is_utf8(const char *path);
