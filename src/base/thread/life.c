/* SPDX-License-Identifier: MIT */
/* Hands the kernel a robust list with one entry, see Documentation/locking/robust-futex-ABI.rst of Linux. */
#include "base/thread/life.h"

#include <limits.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not FUTEX_PRIVATE_FLAG: the waiter is another process. */
static void life_wake(struct life *life)
{
	syscall(SYS_futex, &life->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The list comes first: with the number in the word but no list, the thread would seem to live for ever. */
void life_begin(struct life *life, struct life_holder *holder)
{
	pid_t thread = (pid_t)syscall(SYS_gettid);

	holder->entry.next = &holder->list.list;
	holder->list = (struct robust_list_head){
		.list = { &holder->entry },
		.futex_offset = (char *)&life->word - (char *)&holder->entry,
	};
	syscall(SYS_set_robust_list, &holder->list, sizeof(holder->list));
	atomic_store(&life->word, (uint32_t)thread | FUTEX_WAITERS); /* without this bit the kernel wakes no thread */
	life_wake(life);
}

void life_wait(struct life *life)
{
	uint32_t word;

	while (!(word = atomic_load(&life->word)) || word & FUTEX_TID_MASK)
		syscall(SYS_futex, &life->word, FUTEX_WAIT, word, NULL, NULL, 0);
}

void life_end(struct life *life)
{
	atomic_store(&life->word, FUTEX_OWNER_DIED);
	life_wake(life);
}
