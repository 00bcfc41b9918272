/* SPDX-License-Identifier: MIT */
/* Servers whose first thread has ended, but not all of them. The others were killed, and take nothing from the kernel
 * any more once they sleep in it: in a device that hangs, some for ever. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct remains_one {
	pid_t process;
	int64_t since, look_at; /* ns */
	unsigned threads;       /* that were left when it was last found asleep; 0: it never was */
	bool holds_requests;    /* a thread of it may wait for a request that it has taken itself */
	bool is_told;           /* remains_stay() has returned it */
};

/* Zero is an empty list. */
struct remains {
	struct remains_one *items;
	size_t count;
};

must_check int remains_add(struct remains *remains, pid_t process, bool holds_requests, struct error *err);
/* Forgets a process that has ended wholly. False: it is not here. */
bool remains_end(struct remains *remains, pid_t process);
/* Looks at processes that are due. Returns one whose remaining threads all sleep, if there are fewer than last time; 0:
 * there is none. */
pid_t remains_look(struct remains *remains, int64_t now);
/* Returns one that has been here for so long, ns, and each only once. NULL: there is none. It is valid until the next
 * call. */
const struct remains_one *remains_stay(struct remains *remains, int64_t age, int64_t now);
/* When to look next, ns; INT64_MAX: never. */
int64_t remains_next(const struct remains *remains);
void remains_free(struct remains *remains);
