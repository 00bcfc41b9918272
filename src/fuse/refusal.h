/* SPDX-License-Identifier: MIT */
/* Explains why a mount was refused and what to do; libfuse and fusermount3 at most name the call that failed. */
#pragma once
#include "base/error.h"

/* Returns -EIO if the table of mounts that fusermount3 reads before it unmounts is missing. */
must_check int refusal_check_table(struct error *err);
/* Explains a refused mount by a fault found on this machine, else by libfuse's message, which may be empty. Always
 * returns -EIO. */
must_check int refusal_explain(const char *libfuse, struct error *err);
