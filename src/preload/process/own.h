/* SPDX-License-Identifier: MIT */
/* Owns the list of this library's own descriptors, which stay open when a program closes descriptors that it does not
 * know. They have large numbers (lib/high.h). Calls from our own code add and remove them. Such calls are recognized by
 * their return address, as a signal handler or an allocator may make calls in the middle of our code. */
#pragma once
#include <stdbool.h>

/* Whether the caller of the current function is code of this library. */
#define OWN_CALLS() own_has_code(__builtin_return_address(0))

bool own_has_code(const void *place);

/* Whether RLIMIT_NOFILE leaves room for descriptors of ours. */
bool own_have_room(void);
void own_add(int fd);
void own_remove(int fd);
bool own_has(int fd);
/* Returns the lowest own descriptor from this number on, or -1. */
int own_next(unsigned from);
