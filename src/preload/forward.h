/* SPDX-License-Identifier: MIT */
/* Functions that we do not serve: what they are given is made real, then they are called as if we were not there. */
#pragma once
#include <stdint.h>

struct forward;

/* As the code of the machine (forward_*.S) stores it. */
struct forward_call {
	uint64_t arguments[8]; /* six at least; of syscall(2) all seven */
	const void *from;      /* where the call returns to */
};

/* Finds those that the C library has. */
void forward_find(void);
/* Called for each of these functions before it; returns its address. */
void *forward_prepare(struct forward *forward, const struct forward_call *call);
