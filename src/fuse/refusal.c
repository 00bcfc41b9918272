/* SPDX-License-Identifier: MIT */
/* Checks the device, our rights and fusermount3, in the order in which a mount needs them. The messages are listed in
 * datasetfs(7), TROUBLESHOOTING. */
#include "fuse/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define REFUSAL_DEVICE "/dev/fuse"
#define REFUSAL_TABLE  "/etc/mtab"

/* Looks for a mark that systemd, podman, docker or kubelet leaves, as sd_booted(3) and others do. */
static bool refusal_in_container(void)
{
	static const char *const marks[] = { "/run/systemd/container", "/run/.containerenv", "/.dockerenv" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (access(marks[i], F_OK) == 0)
			return true;
	return getenv("container") || getenv("KUBERNETES_SERVICE_HOST");
}

static int refusal_no_device(struct error *err)
{
	if (refusal_in_container())
		return error_set(err, -EIO, "there is no " REFUSAL_DEVICE " in this container: start it with "
				 "'--device " REFUSAL_DEVICE " --cap-add SYS_ADMIN', or mount on the host and give the "
				 "container the folder");
	return error_set(err, -EIO, "there is no " REFUSAL_DEVICE ": 'modprobe fuse' loads the kernel's FUSE driver");
}

/* A container's control group refuses with EPERM an open that the device's mode allows. */
static int refusal_check_device(struct error *err)
{
	auto_close int fd = open(REFUSAL_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return 0;
	if (errno == ENOENT)
		return refusal_no_device(err);
	if (errno == ENODEV || errno == ENXIO)
		return error_set(err, -EIO,
				 REFUSAL_DEVICE " has no driver: 'modprobe fuse' loads the kernel's FUSE driver");
	if (errno == EPERM)
		return error_set(err, -EIO, REFUSAL_DEVICE " is there, but this container may not open it: start it "
				 "with '--device " REFUSAL_DEVICE " --cap-add SYS_ADMIN'");
	if (errno == EACCES && geteuid() != 0)
		return error_set(err, -EIO, "user %u may not open " REFUSAL_DEVICE ": mount as root, or let users "
				 "open it with 'chmod 666 " REFUSAL_DEVICE "'", (unsigned)geteuid());
	return error_set(err, -EIO, REFUSAL_DEVICE " cannot be opened: %s", strerror(errno));
}

static bool refusal_may_mount(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, sets) == 0 &&
	       (sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN));
}

/* Searches where libfuse does: its own folder first, then like execvp(3). */
static bool refusal_find_helper(char path[512])
{
	const char *search = getenv("PATH");
	auto_free char *folders = NULL;
	char *rest, *folder;

	if (asprintf(&folders, "/usr/bin:%s", search ? search : "/bin") < 0) {
		folders = NULL;
		return false;
	}
	rest = folders;
	while ((folder = strsep(&rest, ":"))) {
		snprintf(path, 512, "%s/fusermount3", *folder ? folder : ".");
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static int refusal_check_rights(struct error *err)
{
	char helper[512];
	struct stat st;

	if (refusal_may_mount())
		return 0;
	if (geteuid() == 0)
		return error_set(err, -EIO, "root may not mount here, as it lacks CAP_SYS_ADMIN: start the container "
				 "with '--cap-add SYS_ADMIN', or mount on the host and give the container the folder");
	if (!refusal_find_helper(helper))
		return error_set(err, -EIO, "user %u needs fusermount3 to mount, and it is not installed: install the "
				 "package fuse3, or mount as root", (unsigned)geteuid());
	if (stat(helper, &st) < 0 || !(st.st_mode & S_ISUID))
		return error_set(err, -EIO, "'%s' has no set-uid bit, without which it cannot mount for user %u: "
				 "'chmod u+s %s' as root, or mount as root", helper, (unsigned)geteuid(), helper);
	return 0;
}

int refusal_check_table(struct error *err)
{
	if (access(REFUSAL_TABLE, F_OK) == 0)
		return 0;
	return error_set(err, -EIO, "fusermount3 needs " REFUSAL_TABLE ", which is missing: 'ln -s /proc/self/mounts "
			 REFUSAL_TABLE "' as root makes it");
}

int refusal_explain(const char *libfuse, struct error *err)
{
	int r = refusal_check_device(err);

	if (r == 0)
		r = refusal_check_rights(err);
	return r < 0 ? r : error_set(err, -EIO, "%s", *libfuse ? libfuse : "libfuse gives no reason");
}
