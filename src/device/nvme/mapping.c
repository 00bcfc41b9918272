/* SPDX-License-Identifier: MIT */
/* Reads DEV/BLOCK/M:N of sysfs:
 *
 *   dm/name, dm/uuid    of a mapping; the UUID begins with who set it up: CRYPT-, LVM-, mpath-
 *   slaves/nvme0n1      devices below it
 *   loop/               of a loop device: a file below it
 *   holders/dm-0        devices that lie on one
 */
#include "device/nvme/mapping.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "device/nvme/sysfs.h"

#define MAPPING_DEPTH 8u /* mappings on each other */

/* A device with its folder, while it is looked at. */
struct mapping_view {
	struct mapping mapping;
	unsigned slaves;
	dev_t below; /* 0: it is no mapping of one device */
	bool is_held;
};

static void mapping_folder(const char *root, dev_t device, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/dev/block/%u:%u/%s", root, major(device), minor(device), name);
}

static int mapping_see_holder(void *argument, const char *path, const char *name, struct error *err)
{
	struct mapping_view *view = argument;

	(void)name;
	(void)err;
	view->is_held = sysfs_device(path) == view->mapping.device;
	return view->is_held;
}

/* A mapping outlives its device. The link to that may then lead to another one, which has the name by now and does not
 * know the mapping. */
static int mapping_see_slave(void *argument, const char *path, const char *name, struct error *err)
{
	struct mapping_view *view = argument;
	char holders[PATH_MAX + sizeof("/holders")];
	int r;

	(void)name;
	if (++view->slaves > 1)
		return 1;
	snprintf(holders, sizeof(holders), "%s/holders", path);
	r = sysfs_each(holders, mapping_see_holder, view, err);
	if (view->is_held)
		view->below = sysfs_device(path);
	return r < 0 ? r : 0;
}

/* Reads the mapping of this folder. False: it is none, or none of one device. */
static bool mapping_read(const char *folder, struct mapping_view *ret)
{
	struct mapping_view view = { .mapping.device = sysfs_device(folder) };
	char slaves[PATH_MAX + sizeof("/slaves")], uuid[32];

	if (!view.mapping.device ||
	    !sysfs_text(folder, "dm/name", view.mapping.name, sizeof(view.mapping.name)))
		return false;
	sysfs_text(folder, "dm/uuid", uuid, sizeof(uuid));
	if (!strncmp(uuid, "mpath-", 6)) /* it may have one path today and two tomorrow */
		return false;
	view.mapping.is_crypt = !strncmp(uuid, "CRYPT-", 6);
	snprintf(slaves, sizeof(slaves), "%s/slaves", folder);
	if (sysfs_each(slaves, mapping_see_slave, &view, NULL) != 0 || !view.below)
		return false;
	*ret = view;
	return true;
}

static dev_t mapping_descend(const char *root, dev_t device, bool *ret_crypt)
{
	struct mapping_view view;
	char folder[PATH_MAX];

	*ret_crypt = false;
	for (unsigned depth = 0; depth < MAPPING_DEPTH; depth++) {
		mapping_folder(root, device, "", folder);
		if (!mapping_read(folder, &view))
			break;
		*ret_crypt |= view.mapping.is_crypt;
		device = view.below;
	}
	return device;
}

dev_t mapping_below(const char *root, dev_t device)
{
	bool is_crypt;

	return mapping_descend(root, device, &is_crypt);
}

bool mapping_is_crypt(const char *root, dev_t device)
{
	bool is_crypt;

	(void)mapping_descend(root, device, &is_crypt);
	return is_crypt;
}

static int mapping_see_any(void *argument, const char *path, const char *name, struct error *err)
{
	(void)argument;
	(void)path;
	(void)name;
	(void)err;
	return 1;
}

static bool mapping_has(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path) ||
	       sysfs_each(path, mapping_see_any, NULL, NULL) != 0;
}

/* Devices of md have slaves, too. A partition has those of the whole device, whose folder contains its own. */
bool mapping_is_plain(const char *root, dev_t device)
{
	char folder[PATH_MAX], text[32];
	bool is_crypt;

	device = mapping_descend(root, device, &is_crypt);
	mapping_folder(root, device, "", folder);
	if (sysfs_text(folder, "partition", text, sizeof(text)))
		mapping_folder(root, device, "..", folder);
	return !is_crypt && sysfs_device(folder) && !mapping_has(folder, "dm") && !mapping_has(folder, "slaves") &&
	       !mapping_has(folder, "loop");
}

static int mapping_see_above(void *argument, const char *path, const char *name, struct error *err)
{
	struct mapping *above = argument;
	struct mapping_view view;

	if (!mapping_read(path, &view))
		return 0;
	if (above->device)
		return error_set(err, -EMLINK, "the mappings '%s' and '%s' both lie on it", above->name,
				 view.mapping.name);
	*above = view.mapping;
	snprintf(above->block, sizeof(above->block), "%.31s", name);
	return 0;
}

int mapping_above(const char *root, dev_t device, struct mapping *ret, struct error *err)
{
	struct mapping highest = { .device = 0 }, next;
	char folder[PATH_MAX];
	int r;

	for (unsigned depth = 0; depth < MAPPING_DEPTH; depth++) {
		mapping_folder(root, device, "holders", folder);
		next = (struct mapping){ .device = 0 };
		r = sysfs_each(folder, mapping_see_above, &next, err);
		if (r < 0)
			return r;
		if (!next.device)
			break;
		next.is_crypt |= highest.is_crypt;
		highest = next;
		device = next.device;
	}
	*ret = highest;
	return 0;
}
