/* SPDX-License-Identifier: MIT */
/* Standard input, output and error: always there, whatever the caller left open. */
#pragma once

/* Opens /dev/null for those of 0, 1 and 2 that are closed, so that no volume gets such a number and log lines are never
 * written into it. The first thing in main(); aborts when it cannot be done. */
void descriptors_reserve(void);
