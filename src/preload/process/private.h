/* SPDX-License-Identifier: MIT */
/* Owns memory that the kernel zeroes in a child, whichever call made it (MADV_WIPEONFORK), for state that must not be
 * inherited. For such state a child is like a program that was just started. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Maps zeroes, in which a pthread_mutex_t is an unlocked one. Any thread may call it again, as *ret never changes once
 * set. False: no memory. */
bool private_new(void *_Atomic *ret, size_t size);
/* Whether such memory belongs to this process; false in a child of vfork(2), which shares its parent's. */
bool private_is_ours(void);
/* Whether this process is a child of vfork(2) whose parent has used such memory. */
bool private_is_anothers(void);
/* Must be called before vfork(2), as the child shares this memory: from now on private_is_ours() compares process ids
 * each time. */
void private_share(void);
