/* SPDX-License-Identifier: MIT */
/* openat2(2), and what stands in for it. */
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

#define BENEATH_TRIES 8 /* when somebody renames directories above, the kernel may be unsure about '..' */

static _Atomic bool is_absent; /* openat2(2) */

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

/* A path of less than PATH_MAX. */
static int beneath_open_part(int root, const char *path, int flags, bool follow)
{
	int fd;

	if (!atomic_load_explicit(&is_absent, memory_order_relaxed)) {
		fd = beneath_ask(root, path, flags, follow);
		if (fd != -ENOSYS && fd != -EPERM) /* what filters of system calls say */
			return fd;
		atomic_store(&is_absent, true);
	}
	return beneath_steps_open(root, path, flags, follow);
}

/* Takes as many whole components off as a system call does, with the slashes behind them; 0: what is left is short
 * enough; -ENAMETOOLONG: so is not even one. */
static int beneath_cut(const char **path, char part[PATH_MAX])
{
	const char *slash;

	if (strlen(*path) < PATH_MAX)
		return 0;
	slash = memrchr(*path, '/', PATH_MAX - 1);
	if (!slash)
		return -ENAMETOOLONG;
	memcpy(part, *path, (size_t)(slash - *path));
	part[slash - *path] = 0;
	*path = slash + strspn(slash, "/");
	return 1;
}

static int beneath_go(int root, const char *path, int flags, bool follow)
{
	auto_close int at = -1;
	char part[PATH_MAX];
	int r, next;

	while ((r = beneath_cut(&path, part)) > 0) {
		next = beneath_open_part(at < 0 ? root : at, part, O_PATH | O_DIRECTORY, follow);
		if (next < 0)
			return next;
		close_fd(&at);
		at = next;
	}
	return r < 0 ? r : beneath_open_part(at < 0 ? root : at, *path ? path : ".", flags, follow);
}

int beneath_open(int root, const char *path, int flags, bool follow, struct error *err)
{
	int fd = beneath_go(root, path, flags, follow);

	if (fd == -EXDEV)
		return error_set(err, fd, "'%s' leads out of the mount", path);
	return fd < 0 ? error_set(err, fd, "cannot open '%s' in the mount: %s", path, strerror(-fd)) : fd;
}
