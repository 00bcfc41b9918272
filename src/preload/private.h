/* SPDX-License-Identifier: MIT */
/* Memory that the kernel zeroes in a child, whichever call made that (MADV_WIPEONFORK): it holds all that must not be
 * inherited, and a child begins as a program does that has just been started. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "preload/report.h"
#include "preload/table.h"

struct private_memory {
	_Atomic pid_t process;         /* whose memory this is; 0: nobody has been here yet */
	pthread_mutex_t datasets_lock; /* zeroes are an unlocked one */
	_Atomic bool is_watching;      /* the mounts, with a descriptor of this process */
	_Atomic int64_t looked;        /* when the mountpoints were looked at last, ns */
	struct report_counts counts;
	_Atomic unsigned served; /* entries of the table */
	struct table_entry table[TABLE_SIZE];
};

extern struct private_memory *_Atomic private_pointer;

/* NULL: private_make() was not called. */
static inline struct private_memory *private_get(void)
{
	return atomic_load_explicit(&private_pointer, memory_order_acquire);
}

bool private_make(void);
/* False in a child of vfork(2): what is in the memory is its parent's. */
bool private_is_ours(void);
/* From now on that is asked for each time. */
void private_share(void);
