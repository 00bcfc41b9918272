/* SPDX-License-Identifier: MIT */
/* Looks for the mountpoint in the mount table. A kernel mount of a volume is an EROFS like any other, except for the
 * memory file behind it. */
#include "device/occupied.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "device/mount_record.h"
#include "device/nvme/sysfs.h"

struct occupied {
	const char *mountpoint;
	const struct occupied_same *same; /* NULL: nothing may be there */
	dev_t device; /* of the filesystem that is visible there */
};

char *occupied_source(const char *volume, const char *label)
{
	char *source;

	return asprintf(&source, "%s%s%s", volume, label ? "@" : "", label ? label : "") < 0 ? NULL : source;
}

/* Splits the rest of the memory's name into label and volume. */
static void occupied_read(char *text, struct occupied_view *ret)
{
	static const char deleted[] = " (deleted)"; /* the kernel's suffix for a file without a name */
	size_t length = strlen(text), end = sizeof(deleted) - 1;
	char *volume;

	if (length >= end && !strcmp(text + length - end, deleted))
		text[length - end] = 0;
	volume = *text == ' ' ? strchr(text + 1, ' ') : NULL;
	if (!volume || strlen(text) >= OCCUPIED_NAME_SIZE)
		return;
	*volume++ = 0;
	strcpy(ret->label, text + 1);
	strcpy(ret->volume, volume);
}

bool occupied_by_kernel(dev_t device, struct occupied_view *ret)
{
	static const char memory[] = "/memfd:" OCCUPIED_IMAGE;
	char folder[64], file[sizeof(memory) + OCCUPIED_NAME_SIZE + sizeof(" (deleted)")];

	snprintf(folder, sizeof(folder), "/sys/dev/block/%u:%u/loop", major(device), minor(device));
	if (!sysfs_text(folder, "backing_file", file, sizeof(file)) || strncmp(file, memory, sizeof(memory) - 1) != 0)
		return false;
	*ret = (struct occupied_view){ 0 };
	occupied_read(file + sizeof(memory) - 1, ret);
	return true;
}

enum occupied_by occupied_server(const struct mountinfo *info, struct occupied_view *ret_view)
{
	if (!strcmp(info->type, MOUNTINFO_OURS))
		return OCCUPIED_BY_DAEMON;
	return !strcmp(info->type, "erofs") && occupied_by_kernel(info->device, ret_view) ? OCCUPIED_BY_KERNEL :
											    OCCUPIED_BY_OTHERS;
}

static bool occupied_is_source(const struct occupied_same *same, const char *source)
{
	auto_free char *expected = same ? occupied_source(same->volume, same->label) : NULL;

	return expected && !strcmp(source, expected);
}

static bool occupied_was_mounted_as(const char *mountpoint, const char *label)
{
	auto_mount_record struct mount_record record = { 0 };
	uint64_t id;

	return mount_record_id(AT_FDCWD, mountpoint, &id, NULL) == 0 &&
	       mount_record_read_shown(id, &record, NULL) == 0 && record.wanted && !strcmp(record.wanted, label);
}

static bool occupied_is_view(const struct occupied *occupied, const struct occupied_view *view)
{
	const struct occupied_same *same = occupied->same;

	return same && !strcmp(view->volume, same->volume) &&
	       (!same->label || !strcmp(view->label, same->label) ||
		occupied_was_mounted_as(occupied->mountpoint, same->label));
}

static int occupied_visit(void *argument, const struct mountinfo *info, struct error *err)
{
	const struct occupied *occupied = argument;
	struct occupied_view view;
	const char *umount = geteuid() == 0 ? "umount" : "fusermount3 -u";

	if (info->device != occupied->device || strcmp(info->point, occupied->mountpoint) != 0)
		return 0;
	switch (occupied_server(info, &view)) {
	case OCCUPIED_BY_DAEMON:
		return occupied_is_source(occupied->same, info->source) ? 1 :
			error_set(err, -EBUSY, "'%s' is mounted there already: '%s %s', then mount again", info->source,
				  umount, info->point);
	case OCCUPIED_BY_KERNEL:
		return occupied_is_view(occupied, &view) ? 1 :
			error_set(err, -EBUSY, "the kernel serves a volume there already: '%s %s', then mount again",
				  umount, info->point);
	case OCCUPIED_BY_OTHERS:
		break;
	}
	return 0;
}

int occupied_check(const char *mountpoint, const struct occupied_same *same, struct error *err)
{
	struct occupied occupied = { .mountpoint = mountpoint, .same = same };
	struct statx info;

	/* DONT_SYNC: the kernel answers, even if the daemon is dead. */
	if (statx(AT_FDCWD, mountpoint, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &info) < 0)
		return error_errno(err, "%s", "cannot look at it");
	occupied.device = makedev(info.stx_dev_major, info.stx_dev_minor);
	return mountinfo_each(occupied_visit, &occupied, err);
}
