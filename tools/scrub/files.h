/* SPDX-License-Identifier: MIT */
/* Which files have chunks of which no copy is right. */
#pragma once
#include "base/source.h"
#include "image/catalogue.h"
#include "scrub/findings.h"

/* Looks for those that findings has, in the indexes of all versions. */
must_check int files_find(struct source *source, const struct catalogue *catalogue, struct findings *findings,
			  struct error *err);
