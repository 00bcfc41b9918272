/* SPDX-License-Identifier: MIT */
/* Memory that the kernel zeroes in a child, whichever call made that (MADV_WIPEONFORK): for what must not be inherited.
 * There a child begins as a program does that has just been started. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Zeroes, in which a pthread_mutex_t is an unlocked one. Constant once it is there, so any thread may call this again.
 * False: no memory. */
bool private_new(void *_Atomic *ret, size_t size);
/* False in a child of vfork(2): what is in such memory is its parent's. */
bool private_is_ours(void);
/* True in such a child, if its parent has come here. */
bool private_is_anothers(void);
/* There may be such children: from now on it is asked for each time. */
void private_share(void);
