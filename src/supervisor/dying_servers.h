/* SPDX-License-Identifier: MIT */
/* Servers whose first thread has ended, but not all of them. The others were killed, and take nothing from the kernel
 * any more once they sleep in it: in a device that hangs, some for ever. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct dying_server {
	pid_t process;
	int64_t since, look_at; /* ns */
	unsigned threads;       /* that were left when it was last found asleep; 0: it never was */
	bool holds_requests;    /* a thread of it may wait for a request that it has taken itself */
	bool is_told;           /* dying_servers_stay() has returned it */
};

/* Zero is an empty list. */
struct dying_servers {
	struct dying_server *items;
	size_t count;
};

must_check int dying_servers_add(struct dying_servers *dying, pid_t process, bool holds_requests, struct error *err);
/* Forgets a process that has ended wholly. False: it is not here. */
bool dying_servers_end(struct dying_servers *dying, pid_t process);
/* Looks at processes that are due. Returns one whose remaining threads all sleep, if there are fewer than last time; 0:
 * there is none. */
pid_t dying_servers_look(struct dying_servers *dying, int64_t now);
/* Returns one that has been here for so long, ns, and each only once. NULL: there is none. It is valid until the next
 * call. */
const struct dying_server *dying_servers_stay(struct dying_servers *dying, int64_t age, int64_t now);
/* When to look next, ns; INT64_MAX: never. */
int64_t dying_servers_next(const struct dying_servers *dying);
void dying_servers_free(struct dying_servers *dying);
