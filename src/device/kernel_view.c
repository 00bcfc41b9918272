/* SPDX-License-Identifier: MIT */
/* Reads the record of the mount, and sysfs. */
#include "device/kernel_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

void kernel_view_free(struct kernel_view *view)
{
	mount_record_free(&view->record);
	free(view->devices);
	*view = (struct kernel_view){ 0 };
}

static int kernel_view_measure(struct kernel_view *view, dev_t device, struct error *err)
{
	char folder[sizeof(SYSFS_BLOCKS) + SYSFS_NAME_SIZE];
	int64_t sectors;

	snprintf(folder, sizeof(folder), SYSFS_BLOCKS "%s", view->record.image);
	if (sysfs_device(folder) != device || !sysfs_number(folder, "size", &sectors))
		return error_set(err, -ENOENT, "its record is of another mount");
	view->image_bytes = (uint64_t)sectors * SYSFS_SECTOR;
	view->count = view->record.members ?
			      activity_since(view->record.members, &view->devices, &view->gone, err) : 0;
	return view->count < 0 ? view->count : 0;
}

int kernel_view_read(const char *point, dev_t device, struct kernel_view *ret, struct error *err)
{
	auto_kernel_view struct kernel_view view = { .count = 0 };
	uint64_t id;
	int r = mount_record_id(AT_FDCWD, point, &id, err);

	if (r == 0)
		r = mount_record_read_shown(id, &view.record, err);
	if (r == 0)
		r = kernel_view_measure(&view, device, err);
	if (r < 0)
		return r;
	*ret = view;
	view = (struct kernel_view){ .count = 0 };
	return 0;
}

struct activity kernel_view_sum(const struct kernel_view *view)
{
	struct activity sum = { .name = "" };

	for (int i = 0; i < view->count; i++) {
		sum.reads += view->devices[i].reads;
		sum.bytes += view->devices[i].bytes;
		sum.waited += view->devices[i].waited;
		sum.in_flight += view->devices[i].in_flight;
	}
	return sum;
}
