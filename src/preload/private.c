/* SPDX-License-Identifier: MIT */
#include "preload/private.h"

#include <sys/mman.h>
#include <unistd.h>

struct private_memory *_Atomic private_pointer;

static _Atomic bool is_shared;

bool private_make(void)
{
	struct private_memory *memory, *none = NULL;

	if (private_get())
		return true;
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		      0);
	if (memory == MAP_FAILED)
		return false;
	if (madvise(memory, sizeof(*memory), MADV_WIPEONFORK) < 0 ||
	    !atomic_compare_exchange_strong(&private_pointer, &none, memory))
		munmap(memory, sizeof(*memory));
	return private_get();
}

bool private_is_ours(void)
{
	struct private_memory *memory = private_get();
	pid_t process = atomic_load_explicit(&memory->process, memory_order_relaxed), nobody = 0;

	if (process && !atomic_load_explicit(&is_shared, memory_order_relaxed))
		return true;
	if (!process && atomic_compare_exchange_strong(&memory->process, &nobody, getpid()))
		return true;
	return memory->process == getpid();
}

void private_share(void)
{
	atomic_store(&is_shared, true);
}
