/* SPDX-License-Identifier: MIT */
/* Keeps a few numbers in an array. When it is full, further ones are not protected: reads then go through the mount. */
#include "preload/process/own.h"

#include <stdatomic.h>
#include <sys/resource.h>

#define OWN_MOST 64u
#define OWN_ROOM 64u /* least RLIMIT_NOFILE that has room for ours */

static _Atomic int own[OWN_MOST]; /* 1 + the number; 0: free */

/* Symbols that the linker defines. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

bool own_has_code(const void *place)
{
	return (const char *)place >= __ehdr_start && (const char *)place < etext;
}

bool own_have_room(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= OWN_ROOM;
}

static void own_replace(int from, int to)
{
	int expected;

	for (unsigned i = 0; i < OWN_MOST; i++) {
		expected = from;
		if (atomic_compare_exchange_strong(&own[i], &expected, to))
			return;
	}
}

void own_add(int fd)
{
	own_replace(0, fd + 1);
}

void own_remove(int fd)
{
	own_replace(fd + 1, 0);
}

bool own_has(int fd)
{
	for (unsigned i = 0; i < OWN_MOST; i++)
		if (atomic_load_explicit(&own[i], memory_order_relaxed) == fd + 1)
			return fd >= 0;
	return false;
}

int own_next(unsigned from)
{
	int next = -1;

	for (unsigned i = 0; i < OWN_MOST; i++) {
		int fd = atomic_load(&own[i]) - 1;

		if (fd >= 0 && (unsigned)fd >= from && (next < 0 || fd < next))
			next = fd;
	}
	return next;
}
