/* SPDX-License-Identifier: MIT */
/* Why a mount was refused, and what to do about it. libfuse and fusermount3 name the call that failed at most. */
#pragma once
#include "base/error.h"

/* -EIO where the table of mounts is missing that fusermount3 reads before it unmounts. */
must_check int refusal_check_table(struct error *err);
/* After a refusal: sets what was found on this machine, or what libfuse said (may be empty) when nothing is found.
 * -EIO in any case. */
must_check int refusal_explain(const char *libfuse, struct error *err);
