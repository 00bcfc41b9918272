/* SPDX-License-Identifier: MIT */
/* The descriptors of the process: the standard three are always open, and the limit is as high as allowed. */
#pragma once

/* Opens /dev/null for those of 0, 1 and 2 that are closed, so that no volume gets such a number and log lines are never
 * written into it. The first thing in main(); aborts when it cannot be done. */
void descriptors_reserve(void);
/* Closes everything but the standard descriptors: a daemon must not keep its caller's locks and pipes.
 * Before anything was opened. */
void descriptors_close_inherited(void);
/* Raises the soft limit to the hard one: many workers, or many directories being packed,
 * need more than shells allow. */
void descriptors_raise_limit(void);
