/* SPDX-License-Identifier: MIT */
/* The descriptors that this library has for itself: a program that closes what it does not know leaves them
 * open. They have large numbers (lib/high.h), and come and go by the calls that our code makes: a signal handler, or
 * an allocator, makes some of its own in the middle of them. */
#pragma once
#include <stdbool.h>

/* Where a call of this function returns to is in this library. */
#define OWN_CALLS() own_has_code(__builtin_return_address(0))

bool own_has_code(const void *place);

/* Whether descriptors of ours would take numbers that the program needs. */
bool own_have_room(void);
void own_add(int fd);
void own_remove(int fd);
bool own_has(int fd);
/* The first one from this number on, or -1. */
int own_next(unsigned from);
