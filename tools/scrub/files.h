/* SPDX-License-Identifier: MIT */
/* Finds the files that have chunks without any right copy. */
#pragma once
#include "base/source.h"
#include "image/catalogue/catalogue.h"
#include "scrub/findings.h"

/* Looks for the chunks that findings lists as lost, in the indexes of all versions. */
must_check int files_find(struct source *source, const struct catalogue *catalogue, struct findings *findings,
			  struct error *err);
