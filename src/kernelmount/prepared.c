/* SPDX-License-Identifier: MIT */
/* A loop device without LO_FLAGS_AUTOCLEAR keeps its memory. It loses that flag last when it is made, and gets it back
 * first when it is taken, so a process that is killed leaves either an image with its record, or none. */
#include "kernelmount/prepared.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program/step.h"
#include "base/text/format.h"
#include "device/mount_record.h"
#include "device/nvme/sysfs.h"

/* Opens the loop device of a record so that it goes when it is closed. */
static bool prepared_open(const struct mount_record *record, struct loop *ret)
{
	struct loop loop = LOOP_NONE;

	if (loop_open(record->image, &loop, NULL) < 0)
		return false;
	/* While it is open it is no other one's. */
	if (mount_record_has_image(record) && loop_set_stay(&loop, false, NULL) == 0) {
		*ret = loop;
		return true;
	}
	loop_close(&loop);
	return false;
}

static void prepared_drop(uint64_t id, const struct mount_record *record)
{
	struct loop loop;

	if (prepared_open(record, &loop))
		loop_close(&loop);
	mount_record_remove(MOUNT_RECORD_PREPARED, id);
}

static void prepared_drop_former(uint64_t id)
{
	auto_mount_record struct mount_record record = { 0 };

	if (mount_record_read(MOUNT_RECORD_PREPARED, id, &record, NULL) == 0)
		prepared_drop(id, &record);
}

int prepared_keep(uint64_t id, const struct built *built, const char *list, struct error *err)
{
	auto_mount_record struct mount_record record = { 0 };
	int r = built_record(built, list, &record, err);

	if (r < 0)
		return r;
	prepared_drop_former(id);
	r = mount_record_write(MOUNT_RECORD_PREPARED, id, &record, err);
	step("kernel-noted");
	return r < 0 ? r : loop_set_stay(&built->loop, true, err);
}

bool prepared_take(uint64_t id, const struct version *version, struct loop *ret)
{
	auto_mount_record struct mount_record record = { 0 };
	char uuid[UUID_TEXT_SIZE];

	format_uuid(version->uuid, uuid);
	if (mount_record_read(MOUNT_RECORD_PREPARED, id, &record, NULL) < 0 || record.sequence != version->sequence ||
	    !record.uuid || strcmp(record.uuid, uuid) != 0 || !prepared_open(&record, ret))
		return false;
	step("kernel-taken");
	mount_record_remove(MOUNT_RECORD_PREPARED, id);
	return true;
}

void prepared_move(uint64_t from, uint64_t to)
{
	auto_mount_record struct mount_record record = { 0 };

	if (mount_record_read(MOUNT_RECORD_PREPARED, from, &record, NULL) < 0)
		return;
	if (mount_record_write(MOUNT_RECORD_PREPARED, to, &record, NULL) < 0)
		prepared_drop(from, &record);
	mount_record_remove(MOUNT_RECORD_PREPARED, from);
}

/* ---- what is left ---- */

static int prepared_sweep_mount(void *argument, enum mount_record_kind kind, uint64_t id, struct mount_record *record)
{
	(void)argument;
	if (kind == MOUNT_RECORD_OWN && mount_record_lost_image(record))
		mount_record_remove(kind, id);
	return 0;
}

/* A switch moves what is prepared before it removes the mount's own record. */
static bool prepared_is_left(uint64_t id)
{
	auto_mount_record struct mount_record own = { 0 }, record = { 0 };

	return mount_record_read(MOUNT_RECORD_OWN, id, &own, NULL) == -ENOENT &&
	       mount_record_read(MOUNT_RECORD_PREPARED, id, &record, NULL) == 0;
}

static int prepared_sweep(void *argument, enum mount_record_kind kind, uint64_t id, struct mount_record *record)
{
	(void)argument;
	if (kind == MOUNT_RECORD_PREPARED && (mount_record_lost_image(record) || prepared_is_left(id)))
		prepared_drop(id, record);
	return 0;
}

int prepared_begin(struct error *err)
{
	int r = mount_record_folders(err);

	if (r < 0 || access(SYSFS_BLOCKS, F_OK) < 0) /* nobody can tell what is gone */
		return r;
	(void)mount_record_each(prepared_sweep_mount, NULL);
	(void)mount_record_each(prepared_sweep, NULL);
	return 0;
}
