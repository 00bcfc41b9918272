/* SPDX-License-Identifier: MIT */
/* Pauses before a server is started again, which grow when servers end by themselves, or many are killed at once. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Zero is the beginning. */
struct pauses {
	int64_t crash, start; /* ns: the last pause after a server that served, and after one that did not; 0: none */
	int64_t kill;         /* the same after one that was killed from outside before it served */
	unsigned kills;       /* such ends in a row */
};

/* Returns the pause (ns) after a server that ended with this status (ending.h). served: ns since it was ready, negative
 * if it never was. */
int64_t pauses_next(struct pauses *pauses, int status, int64_t served);
