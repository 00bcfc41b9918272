/* SPDX-License-Identifier: MIT */
/* A folder that was removed while a process waited for its lock locks nothing, so the waiter checks that the name still
 * leads to the folder that it has locked. */
#include "attach/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "io/site.h"

#define STATE_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int state_make(int at, const char *name, struct error *err)
{
	return runtime_make(at, name, 0711, err);
}

/* ---- locks ---- */

static int state_flock(int fd, bool wait, struct error *err)
{
	if (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return error_set(err, -EAGAIN, "another process is at work there");
	return error_errno(err, "cannot lock a folder in '" STATE_FOLDER "'");
}

int state_lock(int state, const char *key, bool wait, int *ret, struct error *err)
{
	int r;

	for (;;) {
		auto_close int fd = -1;

		r = state_make(state, key, err);
		if (r < 0)
			return r;
		fd = openat(state, key, STATE_FLAGS);
		if (fd < 0 && errno == ENOENT) /* removed again by another process */
			continue;
		if (fd < 0)
			return error_errno(err, "cannot open '" STATE_FOLDER "/%s'", key);
		r = state_flock(fd, wait, err);
		if (r < 0)
			return r;
		if (site_has(state, key, fd)) {
			*ret = take_fd(&fd);
			return 0;
		}
	}
}

void state_drop(int state, const char *key)
{
	unlinkat(state, key, AT_REMOVEDIR);
}
