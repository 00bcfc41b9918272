/* SPDX-License-Identifier: MIT */
/* Maps memory with MADV_WIPEONFORK, and remembers the process that first used it. */
#include "preload/process/private.h"

#include <sys/mman.h>
#include <unistd.h>

static void *_Atomic owner; /* an _Atomic pid_t; 0: no process has claimed it yet */
static _Atomic bool is_shared;

bool private_new(void *_Atomic *ret, size_t size)
{
	void *memory, *none = NULL;

	if (atomic_load_explicit(ret, memory_order_acquire))
		return true;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	if (madvise(memory, size, MADV_WIPEONFORK) < 0 || !atomic_compare_exchange_strong(ret, &none, memory))
		munmap(memory, size);
	return atomic_load(ret);
}

bool private_is_ours(void)
{
	_Atomic pid_t *process;
	pid_t known, nobody = 0;

	if (!private_new(&owner, sizeof(*process)))
		return false;
	process = owner;
	known = atomic_load_explicit(process, memory_order_relaxed);
	if (known && !atomic_load_explicit(&is_shared, memory_order_relaxed))
		return true;
	if (!known && atomic_compare_exchange_strong(process, &nobody, getpid()))
		return true;
	return *process == getpid();
}

bool private_is_anothers(void)
{
	return owner && !private_is_ours();
}

void private_share(void)
{
	private_is_ours(); /* claims it, or the first child to open a file would */
	atomic_store(&is_shared, true);
}
