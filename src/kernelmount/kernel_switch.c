/* SPDX-License-Identifier: MIT */
/* Builds a mount of the other version, checked as a new mount is, and exchanges both. If the process is killed, the
 * mount shows the old version or the new one; between the two steps of the exchange, when the new one lies below the
 * old one already, the next switch detaches that first. */
#include "kernelmount/kernel_switch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program/step.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "device/mount_record.h"
#include "device/nvme/sysfs.h"
#include "device/occupied.h"
#include "erofs/erofs_super.h"
#include "kernelmount/built.h"
#include "kernelmount/mountpoint.h"
#include "kernelmount/prepared.h"
#include "options/option_list.h"
#include "trust/statement.h"

#ifndef ST_NOSYMFOLLOW
#define ST_NOSYMFOLLOW 0x2000
#endif

struct kernel_switch {
	struct dsfs_switch *command;
	int lock;
	struct mountpoint top;
	struct mount_record record; /* of the mount on top */
	bool is_lost;               /* its record was not there */
	uint8_t shown[16];          /* UUID of the version there; only if is_lost */
	bool follows;               /* goes where kernel_switch_goal() says */
	uint64_t first;             /* switches only a mount that began as this one; 0: any */
	char *words;                /* to which options point */
	struct mount_options options;
	struct built built;
	int64_t began; /* ns, monotonic */
};

static void kernel_switch_close(struct kernel_switch *to)
{
	built_close(&to->built);
	free(to->words);
	mount_record_free(&to->record);
	mountpoint_close(&to->top);
	close_fd(&to->lock);
}

/* ---- the mount that is there ---- */

static int kernel_switch_find_successor(void *argument, enum mount_record_kind kind, uint64_t id,
					struct mount_record *record)
{
	const struct mountpoint *top = argument;
	char name[SYSFS_NAME_SIZE];

	(void)id;
	return kind == MOUNT_RECORD_OWN && record->replaces == top->id && record->image &&
	       sysfs_block_name(top->beneath, name) && !strcmp(record->image, name) && mount_record_has_image(record);
}

/* Finishes a switch that was killed between its two steps. */
static int kernel_switch_finish(struct kernel_switch *to, struct error *err)
{
	uint64_t id = to->top.id;
	int r;

	if (!to->top.beneath || !mount_record_each(kernel_switch_find_successor, &to->top))
		return 0;
	r = mountpoint_detach(&to->top, err);
	if (r < 0)
		return r;
	mount_record_remove(MOUNT_RECORD_OWN, id);
	return mountpoint_renew(&to->top, err);
}

/* The name of the image has no more bytes than a memory file can have: a longer one was cut. */
static bool kernel_switch_is_named(const struct kernel_switch *to, struct occupied_view *ret)
{
	return occupied_by_kernel(to->top.device, ret) && *ret->volume &&
	       strlen(OCCUPIED_IMAGE) + strlen(ret->label) + strlen(ret->volume) + 2 < OCCUPIED_NAME_SIZE - 1;
}

static int kernel_switch_read_shown(struct kernel_switch *to, const char *image, struct error *err)
{
	struct loop loop = LOOP_NONE;
	int r = loop_open(image, &loop, err);

	if (r == 0)
		r = erofs_super_read_uuid(loop.fd, to->shown, err);
	loop_close(&loop);
	return r;
}

/* Makes the record anew from what can be seen, and from the options that the user gives again. */
static int kernel_switch_remake(struct kernel_switch *to, const char *list, struct error *err)
{
	struct mount_record *record = &to->record;
	struct occupied_view view = { "", "" };
	char image[SYSFS_NAME_SIZE] = "";
	int r;

	if (!list)
		return error_set(err, -ENOENT, "there is no '" MOUNT_RECORD_FOLDER "/%" PRIu64 "' with its mount "
				 "options (trust, digest and others): give them again with -o, '-o defaults' if it had "
				 "none", to->top.id);
	if (!kernel_switch_is_named(to, &view) || !sysfs_block_name(to->top.device, image))
		return error_set(err, -ENOENT, "the kernel does not say which volume it is: unmount and mount again");
	record->volume = strdup(view.volume);
	record->label = strdup(view.label);
	record->image = strdup(image);
	if (!record->volume || !record->label || !record->image)
		return error_no_memory(err);
	to->is_lost = true;
	record->first = to->top.id;
	r = option_list_absolute(*list ? list : "defaults", &record->options, err);
	if (r == 0)
		r = kernel_switch_read_shown(to, image, err);
	return r < 0 ? r : mount_record_disk(image, &record->disk, err);
}

static int kernel_switch_know(struct kernel_switch *to, const char *list, struct error *err)
{
	int r = mount_record_read(MOUNT_RECORD_OWN, to->top.id, &to->record, err);

	if (r == -ENOENT || (r == -EINVAL && list)) /* what cannot be read is lost as well */
		return kernel_switch_remake(to, list, err);
	if (r == 0 && list)
		return error_set(err, -EINVAL, "it keeps the options that it was mounted with ('%s'), -o is for a "
				 "mount whose record is lost", to->record.options);
	return r;
}

static int kernel_switch_take_options(struct kernel_switch *to, struct error *err)
{
	int r = option_list_read(to->record.options, &to->options, &to->words, err);

	if (r == 0) {
		to->options.kernel = true;
		r = mount_options_check(&to->options, err);
	}
	(void)selinux_drop(&to->options.selinux);
	to->options.volume = to->record.volume;
	to->options.mountpoint = to->top.path;
	return r;
}

static int kernel_switch_open(struct kernel_switch *to, const char *path, const char *list, struct error *err)
{
	const char *expected = to->command->if_current;
	int r = geteuid() == 0 ? 0 : error_set(err, -EPERM, "only root may switch a mount that the kernel serves");

	if (r == 0)
		r = mountpoint_open(path, &to->top, err);
	if (r == 0)
		r = prepared_begin(err);
	if (r == 0)
		r = mountpoint_lock(&to->top, &to->lock, err);
	step("kernel-locked");
	if (r == 0)
		r = kernel_switch_finish(to, err);
	if (r == 0)
		r = kernel_switch_know(to, list, err);
	if (r == 0 && to->first && to->first != to->record.first)
		r = error_set(err, -ENOENT, "it was unmounted, and another one is mounted there");
	if (r == 0 && *expected && strcmp(expected, to->record.label) != 0)
		r = error_set(err, -ECANCELED, "the mount serves '%s', expected '%s'", to->record.label, expected);
	return r < 0 ? r : kernel_switch_take_options(to, err);
}

/* ---- the version ---- */

int kernel_switch_check_volume(const struct mount_record *record, const struct superblock *super, struct error *err)
{
	uint8_t uuid[16];
	int r = 0;

	if (record->volume_uuid)
		r = parse_uuid(record->volume_uuid, uuid, err);
	if (r == 0 && record->volume_uuid)
		r = superblock_check_volume(super, uuid, err);
	return r < 0 ? r : superblock_check_seen(super, record->seen, err);
}

/* Without a record only the version tells whether the name still leads to the same volume. */
static int kernel_switch_check_shown(const struct kernel_switch *to, struct error *err)
{
	if (!to->is_lost || catalogue_by_uuid(&to->built.catalogue, to->shown))
		return 0;
	return error_set(err, -ESTALE, "'%s' lacks the version '%s' that is mounted, so it may be another volume by "
			 "now: unmount and mount again", to->record.volume, to->record.label);
}

static bool kernel_switch_is(const struct version *version, const char *uuid)
{
	char text[UUID_TEXT_SIZE];

	format_uuid(version->uuid, text);
	return uuid && !strcmp(text, uuid);
}

const struct version *kernel_switch_goal(const struct catalogue *catalogue, const struct mount_record *record)
{
	const struct version *current = catalogue_current(catalogue), *copy;
	uint8_t uuid[16];

	if (current && !kernel_switch_is(current, record->pointed))
		return current;
	copy = record->uuid && parse_uuid(record->uuid, uuid, NULL) == 0 ? catalogue_by_uuid(catalogue, uuid) : NULL;
	return copy && copy->sequence != record->sequence ? copy : NULL;
}

static int kernel_switch_choose(struct kernel_switch *to, struct error *err)
{
	const struct catalogue *catalogue = &to->built.catalogue;
	const char *label = to->command->label;

	if (to->follows)
		to->built.version = kernel_switch_goal(catalogue, &to->record);
	else
		to->built.version = *label ? catalogue_by_label(catalogue, label) : catalogue_current(catalogue);
	if (to->built.version || to->follows)
		return 0;
	return *label ? catalogue_refuse(catalogue, label, err) :
			error_set(err, -ENOENT, "the volume has no current version");
}

/* A switch by hand may go back to an older version, following does not. */
static int kernel_switch_trust(struct kernel_switch *to, struct error *err)
{
	int r = built_trust(&to->built, err);

	if (r < 0 || !to->follows)
		return r;
	return statement_check_date((struct statement_dated){ to->built.version->label, to->built.signer.date },
				    (struct statement_dated){ to->record.label, to->record.date },
				    "use 'datasetfsctl switch'", err);
}

static bool kernel_switch_is_there(const struct kernel_switch *to)
{
	return to->record.sequence == to->built.version->sequence &&
	       kernel_switch_is(to->built.version, to->record.uuid);
}

/* Notes which version is current now. */
static int kernel_switch_point(struct kernel_switch *to, struct mount_record *record, struct error *err)
{
	const struct version *current = catalogue_current(&to->built.catalogue);
	char uuid[UUID_TEXT_SIZE] = "";
	const char *pointed = uuid;

	if (to->follows && current)
		format_uuid(current->uuid, uuid);
	else
		pointed = to->record.pointed ? to->record.pointed : record->pointed;
	if (!pointed || pointed == record->pointed)
		return 0;
	free(record->pointed);
	record->pointed = strdup(pointed);
	return record->pointed ? 0 : error_no_memory(err);
}

static int kernel_switch_build(struct kernel_switch *to, struct error *err)
{
	struct built *built = &to->built;
	int r;

	if (prepared_take(to->top.id, built->version, &built->loop))
		return 0;
	r = built_load(built, err);
	return r < 0 ? r : built_image(built, err);
}

/* ---- the switch ---- */

/* A mount has its record from before it is seen until it is gone. */
static int kernel_switch_note(struct kernel_switch *to, uint64_t *ret_id, struct error *err)
{
	auto_mount_record struct mount_record record = { 0 };
	int r = built_record(&to->built, to->record.options, &record, err);

	if (r == 0)
		r = kernel_switch_point(to, &record, err);
	if (r == 0)
		r = mount_record_id(to->built.tree, "", ret_id, err);
	if (r < 0)
		return r;
	record.switches = to->record.switches + 1;
	record.replaces = to->top.id;
	record.first = to->record.first;
	return mount_record_write(MOUNT_RECORD_OWN, *ret_id, &record, err);
}

static int kernel_switch_exchange(struct kernel_switch *to, uint64_t id, struct error *err)
{
	int64_t start = clock_now();
	bool is_below;
	int r = mountpoint_exchange(&to->top, to->built.tree, &is_below, err);

	to->command->prepare_us = (uint64_t)(start - to->began) / 1000;
	to->command->switch_us = (uint64_t)(clock_now() - start) / 1000;
	step("kernel-exchanged");
	if (r == 0)
		prepared_move(to->top.id, id);
	if (!is_below) /* else both are there */
		mount_record_remove(MOUNT_RECORD_OWN, r == 0 ? to->top.id : id);
	return r;
}

/* Keeps what 'mount -o remount,bind' has forbidden since. */
static int kernel_switch_tighten(struct kernel_switch *to, struct error *err)
{
	struct statvfs now;

	if (fstatvfs(to->top.fd, &now) < 0)
		return error_errno(err, "cannot look at its mount");
	to->options.noexec |= (now.f_flag & ST_NOEXEC) != 0;
	to->options.nosymfollow |= (now.f_flag & ST_NOSYMFOLLOW) != 0;
	to->options.suid &= !(now.f_flag & ST_NOSUID);
	return 0;
}

static int kernel_switch_go(struct kernel_switch *to, struct error *err)
{
	uint64_t id;
	int r = kernel_switch_tighten(to, err);

	if (r == 0)
		r = built_mount(&to->built, err);
	step("kernel-built");
	if (r == 0)
		r = kernel_switch_note(to, &id, err);
	step("kernel-recorded");
	return r < 0 ? r : kernel_switch_exchange(to, id, err);
}

/* The options that were given again are kept for the switch that takes what is prepared here. */
static int kernel_switch_prepare(struct kernel_switch *to, struct error *err)
{
	int r = 0;

	if (to->is_lost)
		r = mount_record_write(MOUNT_RECORD_OWN, to->top.id, &to->record, err);
	if (r == 0)
		r = prepared_keep(to->top.id, &to->built, to->record.options, err);
	to->command->prepare_us = (uint64_t)(clock_now() - to->began) / 1000;
	return r;
}

static void kernel_switch_answer(struct kernel_switch *to)
{
	const struct version *version = to->built.version;

	memcpy(to->command->label, version->label, sizeof(version->label));
	memcpy(to->command->uuid, version->uuid, sizeof(version->uuid));
	to->command->sequence = version->sequence;
}

/* The version that is to be shown is there already. */
static int kernel_switch_stay(struct kernel_switch *to, struct error *err)
{
	int r = kernel_switch_point(to, &to->record, err);

	to->record.seen = to->built.super.sequence;
	return r < 0 ? r : mount_record_write(MOUNT_RECORD_OWN, to->top.id, &to->record, err);
}

static int kernel_switch_run(struct kernel_switch *to, struct error *err)
{
	int r = built_open(&to->built, err);

	if (r == 0)
		r = kernel_switch_check_volume(&to->record, &to->built.super, err);
	if (r == 0)
		r = kernel_switch_check_shown(to, err);
	if (r == 0)
		r = kernel_switch_choose(to, err);
	if (r < 0 || !to->built.version)
		return r;
	r = kernel_switch_trust(to, err);
	if (r < 0)
		return r;
	if (kernel_switch_is_there(to)) {
		kernel_switch_answer(to);
		return kernel_switch_stay(to, err);
	}
	r = kernel_switch_build(to, err);
	step("kernel-imaged");
	if (r < 0)
		return r;
	r = to->command->flags & DSFS_SWITCH_PREPARE ? kernel_switch_prepare(to, err) : kernel_switch_go(to, err);
	if (r == 0)
		kernel_switch_answer(to);
	return r;
}

static int kernel_switch_do(struct kernel_switch *to, const char *path, const char *options, struct error *err)
{
	int r;

	to->built = BUILT_OF(&to->options);
	r = kernel_switch_open(to, path, options, err);
	if (r == 0)
		r = kernel_switch_run(to, err);
	kernel_switch_close(to);
	return r;
}

int kernel_switch(const char *path, const char *options, struct dsfs_switch *command, struct error *err)
{
	struct kernel_switch to = { .command = command, .lock = -1, .top = MOUNTPOINT_NONE, .began = clock_now() };

	return kernel_switch_do(&to, path, options, err);
}

int kernel_switch_follow(const char *path, uint64_t first, struct dsfs_switch *ret, struct error *err)
{
	struct kernel_switch to = { .command = ret, .lock = -1, .top = MOUNTPOINT_NONE, .began = clock_now(),
				    .follows = true, .first = first };

	*ret = (struct dsfs_switch){ 0 };
	return kernel_switch_do(&to, path, NULL, err);
}
