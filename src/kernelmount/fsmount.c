/* SPDX-License-Identifier: MIT */
/* Uses fsopen(2) and its relatives: paths may contain commas, and the kernel says what it rejects. */
#include "kernelmount/fsmount.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Makes the kernel's last error message, "e erofs: …", the reason. */
static int fsmount_failed(int context, const char *what, struct error *err)
{
	int code = errno;
	char text[384], said[sizeof(text)] = "";
	ssize_t n;

	while ((n = read(context, text, sizeof(text) - 1)) > 0) {
		text[n] = 0;
		text[strcspn(text, "\n")] = 0;
		if (n > 2 && text[0] == 'e')
			memcpy(said, text + 2, (size_t)n - 1);
	}
	return error_set(err, -code, "%s: %s%s%s%s", what, strerror(code), said[0] ? " (" : "", said,
			 said[0] ? ")" : "");
}

static int fsmount_configure(int context, const struct fsmount *setup, struct error *err)
{
	if (fsconfig(context, FSCONFIG_SET_STRING, "source", setup->image, 0) < 0)
		return fsmount_failed(context, "the kernel does not take the image", err);
	for (uint32_t i = 0; i < setup->count; i++)
		if (fsconfig(context, FSCONFIG_SET_STRING, "device", setup->devices[i], 0) < 0)
			return fsmount_failed(context, "the kernel does not take a further device", err);
	for (uint32_t i = 0; i < SELINUX_OPTIONS; i++)
		if (setup->selinux->values[i] &&
		    fsconfig(context, FSCONFIG_SET_STRING, selinux_names[i], setup->selinux->values[i], 0) < 0)
			return fsmount_failed(context, "the kernel does not take an option for SELinux", err);
	if (fsconfig(context, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0 ||
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fsmount_failed(context, "the kernel cannot mount the image as EROFS", err);
	return 0;
}

int fsmount_create(const struct fsmount *setup, int *ret_tree, struct error *err)
{
	unsigned attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME |
			      (setup->noexec ? MOUNT_ATTR_NOEXEC : 0) | (setup->suid ? 0 : MOUNT_ATTR_NOSUID) |
			      (setup->nosymfollow ? MOUNT_ATTR_NOSYMFOLLOW : 0);
	auto_close int context = fsopen("erofs", FSOPEN_CLOEXEC);
	int r;

	if (context < 0)
		return errno == ENODEV ? error_set(err, -ENODEV, "the kernel has no EROFS, see 'modprobe erofs'") :
					 error_errno(err, "cannot begin to mount");
	r = fsmount_configure(context, setup, err);
	if (r < 0)
		return r;
	*ret_tree = fsmount(context, FSMOUNT_CLOEXEC, attributes);
	return *ret_tree < 0 ? fsmount_failed(context, "the kernel cannot mount the image as EROFS", err) : 0;
}

int fsmount_show(int tree, const char *mountpoint, struct error *err)
{
	if (move_mount(tree, "", AT_FDCWD, mountpoint, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_errno(err, "cannot mount on '%s'", mountpoint);
	return 0;
}
