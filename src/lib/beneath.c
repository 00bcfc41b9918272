/* SPDX-License-Identifier: MIT */
/* Opens by openat2(2), or by steps where the kernel has none. */
#include "lib/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/beneath_steps.h"

#define BENEATH_TRIES 8 /* attempts: the kernel is unsure about '..' during a mount or a rename */

static _Atomic bool is_absent; /* openat2(2) was refused */

static int beneath_ask(int root, const char *path, int flags, bool follow)
{
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV |
			   (follow ? 0 : RESOLVE_NO_SYMLINKS),
	};
	int fd;

	for (int i = 0; i < BENEATH_TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* Opens a path of less than PATH_MAX bytes. */
static int beneath_open_part(int root, const char *path, int flags, bool follow)
{
	int fd;

	if (!atomic_load_explicit(&is_absent, memory_order_relaxed)) {
		fd = beneath_ask(root, path, flags, follow);
		if (fd == -ENOSYS || fd == -EPERM) /* the errors of seccomp filters */
			atomic_store(&is_absent, true);
		else if (fd != -EAGAIN)
			return fd;
	}
	return beneath_steps_open(root, path, flags, follow);
}

/* Opens the directory to which as many whole components as fit in PATH_MAX lead; *ret_length: their length. */
static int beneath_open_head(int root, const char *path, bool follow, size_t *ret_length)
{
	size_t length = PATH_MAX - 1;
	char head[PATH_MAX];

	while (length && path[length] != '/')
		length--;
	if (!length)
		return -ENAMETOOLONG;
	memcpy(head, path, length);
	head[length] = 0;
	*ret_length = length;
	return beneath_open_part(root, head, O_PATH | O_DIRECTORY, follow);
}

static int beneath_go(int root, const char *path, int flags, bool follow)
{
	auto_close int at = -1;
	size_t length;
	int next;

	while (strlen(path) >= PATH_MAX) {
		next = beneath_open_head(at < 0 ? root : at, path, follow, &length);
		if (next < 0)
			return next;
		close_fd(&at);
		at = next;
		path += length + strspn(path + length, "/");
	}
	return beneath_open_part(at < 0 ? root : at, *path ? path : ".", flags, follow);
}

int beneath_open(int root, const char *path, int flags, bool follow, struct error *err)
{
	int fd = beneath_go(root, path, flags, follow);

	if (fd == -EXDEV)
		return error_set(err, fd, "'%s' leads out of the mount", path);
	return fd < 0 ? error_set(err, fd, "cannot open '%s' in the mount: %s", path, strerror(-fd)) : fd;
}
