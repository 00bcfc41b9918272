/* SPDX-License-Identifier: MIT */
/* Owns the functions that are not served: makes their arguments real, then calls them as if we were not there. */
#pragma once
#include <stdint.h>

struct forward;

/* The registers of a call, as the machine's code (forward_*.S) stores them. */
struct forward_call {
	uint64_t arguments[8]; /* at least six; for syscall(2) all seven */
	const void *from;      /* return address of the call */
};

/* Looks up these functions in the libraries behind ours. */
void forward_find(void);
/* Makes the arguments of a call real; the code of the machine calls it first. Returns the function's address. */
void *forward_prepare(struct forward *forward, const struct forward_call *call);
