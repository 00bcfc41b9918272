/* SPDX-License-Identifier: MIT */
/* Lists all that this user may not read in a source, so that nobody has to mend it file by file. */
#pragma once
#include "source/scan.h"

/* Scans the source again, and opens every file. Sets the error to what cannot be read, and returns it; leaves the error
 * as it is if everything can. source: the name that the user gave. */
must_check int unreadable_explain(const struct scan_setup *setup, const char *source, struct error *err);
