/* SPDX-License-Identifier: MIT */
/* Hooks close(2), dup(2) and their relatives, which change the meaning of numbers. The program must not touch our own
 * descriptors: closing one says EBADF, as without us. */
#include <limits.h>
#include <linux/close_range.h>

#include "preload/files/real.h"
#include "preload/files/table.h"
#include "preload/hooks/hook.h"
#include "preload/hooks/serving.h"
#include "preload/process/inside.h"
#include "preload/process/next.h"
#include "preload/process/own.h"
#include "preload/process/private.h"

HOOK(close);
int hook_close(int fd)
{
	if (OWN_CALLS()) {
		own_remove(fd);
	} else if (own_has(fd)) {
		errno = EBADF;
		return -1;
	}
	serving_forget(fd);
	return next()->close(fd);
}

HOOK_ALIAS(__close, close);

/* --- dup2 --- */

/* Makes fd real before it is copied to other; serves nothing any more if other is a descriptor of ours. */
static void numbers_prepare(int fd, int other, const char *caller)
{
	struct inside inside;

	if ((!table_may_have(fd) && !own_has(other)) || !inside_enter(&inside))
		return;
	real_make(fd, caller);
	if (own_has(other))
		real_lose_own((unsigned)other, (unsigned)other, caller);
	inside_leave(&inside);
}

/* Forgets the former meaning of the number that it returns. */
HOOK(dup);
int hook_dup(int fd)
{
	int r;

	numbers_prepare(fd, -1, "dup");
	r = next()->dup(fd);
	serving_forget(r);
	return r;
}

HOOK(dup2);
int hook_dup2(int fd, int other)
{
	int r;

	numbers_prepare(fd, other, "dup2");
	r = next()->dup2(fd, other);
	if (r >= 0 && fd != other)
		serving_forget(other);
	return r;
}

HOOK(dup3);
int hook_dup3(int fd, int other, int flags)
{
	int r;

	numbers_prepare(fd, other, "dup3");
	r = next()->dup3(fd, other, flags);
	if (r >= 0)
		serving_forget(other);
	return r;
}

HOOK_ALIAS(__dup2, dup2);

/* --- close_range --- */

static void numbers_forget_range(unsigned first, unsigned last)
{
	struct inside inside;

	if (!table_has_any() || !inside_enter(&inside))
		return;
	for (int fd = table_next(first); fd >= 0 && (unsigned)fd <= last; fd = table_next((unsigned)fd + 1))
		table_forget(fd);
	inside_leave(&inside);
}

/* Closes the range except for our own descriptors. */
static int numbers_close_range(unsigned first, unsigned last)
{
	for (int own = own_next(first); own >= 0 && (unsigned)own <= last; own = own_next(first)) {
		if ((unsigned)own > first && next()->close_range(first, (unsigned)own - 1, 0) < 0)
			return -1;
		if ((unsigned)own == last)
			return 0;
		first = (unsigned)own + 1;
	}
	return next()->close_range(first, last, 0);
}

HOOK(close_range);
int hook_close_range(unsigned first, unsigned last, int flags)
{
	struct inside inside;

	/* Numbers of this thread will then differ from the other threads'. */
	if (flags & CLOSE_RANGE_UNSHARE && !private_is_anothers() && inside_enter(&inside)) {
		real_stop("close_range");
		inside_leave(&inside);
	}
	if (flags || first > last || inside_is)
		return next()->close_range(first, last, flags);
	numbers_forget_range(first, last);
	return numbers_close_range(first, last);
}

HOOK(closefrom);
void hook_closefrom(int least)
{
	unsigned first = least < 0 ? 0 : (unsigned)least;

	if (own_next(first) < 0 || inside_is || close_range(first, UINT_MAX, 0) < 0)
		next()->closefrom(least);
}
