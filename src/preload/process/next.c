/* SPDX-License-Identifier: MIT */
/* Finds functions by dlsym(3) with RTLD_NEXT. Nothing here allocates memory, as an allocator may call us first. */
#include "preload/process/next.h"

#include <dlfcn.h>
#include <errno.h>

struct next next_calls;
bool next_is_known;

void next_find(void)
{
#define NEXT_FIND(name) next_calls.name = (__typeof__(next_calls.name))dlsym(RTLD_NEXT, #name);
	NEXT_CALLS(NEXT_FIND)
#undef NEXT_FIND
	__atomic_store_n(&next_is_known, true, __ATOMIC_RELEASE);
}

void *next_behind(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Stands for a function that no loaded library has: a caller that asks for its address could not call it anyway. */
static long next_missing(void)
{
	errno = ENOSYS;
	return -1;
}

void *next_of(const char *name, const void *from)
{
	void *found = next_behind(name), *caller;
	Dl_info info;

	if (found)
		return found;
	if (!dladdr(from, &info) || !info.dli_fname)
		return (void *)next_missing;
	caller = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (caller) {
		found = dlsym(caller, name);
		dlclose(caller);
	}
	return found ? found : (void *)next_missing;
}
