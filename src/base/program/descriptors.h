/* SPDX-License-Identifier: MIT */
/* The descriptors of the process: keeps the standard three open and raises the limit on their number. */
#pragma once

/* Opens /dev/null for each of 0, 1 and 2 that is closed, so that no volume gets such a number and no log line is
 * ever written into it. main() calls it first; it aborts on failure. */
void descriptors_reserve(void);
/* Closes every descriptor above the standard three, so that a daemon does not keep its caller's locks and pipes.
 * Must be called before the program opens anything. spared: stays open; -1: none. */
void descriptors_close_inherited(int spared);
/* Raises the soft limit to the hard one, because many workers, or many directories being packed, need more
 * descriptors than shells allow by default. */
void descriptors_raise_limit(void);
