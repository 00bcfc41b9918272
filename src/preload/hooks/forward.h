/* SPDX-License-Identifier: MIT */
/* Owns the functions that we do not serve: makes the files among their arguments real, then calls them as if we were
 * not there. */
#pragma once
#include <stdint.h>

struct forward;

/* The registers of a call, as the assembly of each machine (forward_*.S) stores them. */
struct forward_call {
	uint64_t arguments[8]; /* at least six; for syscall(2) all seven */
	const void *from;      /* return address of the call */
};

/* Looks up the forwarded functions in the libraries that were loaded after ours. */
void forward_find(void);
/* Makes the files among the arguments of a call real; the assembly calls this first. Returns the address of the
 * function to jump to. */
void *forward_prepare(struct forward *forward, const struct forward_call *call);
