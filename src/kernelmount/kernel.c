/* SPDX-License-Identifier: MIT */
/* Shows a mount that was built elsewhere, in one step. */
#include "kernelmount/kernel.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/step.h"
#include "base/text/format.h"
#include "device/occupied.h"
#include "kernelmount/built.h"
#include "kernelmount/fsmount.h"
#include "kernelmount/mountpoint.h"
#include "kernelmount/prepared.h"

/* Keeps what a switch needs. The mount serves without it. */
static int kernel_keep(struct built *built, const char *list, uint64_t id, struct error *err)
{
	auto_mount_record struct mount_record record = { 0 };
	int r = built_record(built, list, &record, err);

	record.first = id;
	return r < 0 ? r : mount_record_write(MOUNT_RECORD_OWN, id, &record, err);
}

static int kernel_show_kept(struct built *built, const char *list, struct error *err)
{
	const char *mountpoint = built->options->mountpoint;
	struct error why = { 0 };
	uint64_t id;
	int r = mount_record_id(built->tree, "", &id, NULL);

	if (r < 0)
		return fsmount_show(built->tree, mountpoint, err);
	r = prepared_begin(&why);
	if (r == 0)
		r = kernel_keep(built, list, id, &why);
	if (r < 0)
		log_warn("to switch '%s' its mount options will have to be given again: %s, ignoring", mountpoint,
			 why.reason);
	step("kernel-kept");
	r = fsmount_show(built->tree, mountpoint, err);
	if (r < 0)
		mount_record_remove(MOUNT_RECORD_OWN, id);
	return r;
}

static int kernel_show(struct built *built, const char *list, struct error *err)
{
	const struct mount_options *options = built->options;
	char bytes[SIZE_TEXT_SIZE];
	int r = built_image(built, err);

	if (r == 0)
		r = built_mount(built, err);
	if (r == 0)
		r = occupied_check(options->mountpoint, NULL, err);
	if (r == 0)
		r = kernel_show_kept(built, list, err);
	if (r == 0)
		log_info("the kernel serves '%s': version '%s' of '%s', %s of metadata in memory; nothing is verified",
			 options->mountpoint, built->version->label, options->volume,
			 format_size(erofs_image_sizes(built->image).bytes, bytes));
	return r;
}

int kernel_mount(const struct mount_options *options, const char *list, bool is_rehearsed, struct error *err)
{
	struct built built = BUILT_OF(options);
	int r = built_open(&built, err);

	if (r == 0)
		r = built_choose(&built, err);
	if (r == 0)
		r = built_trust(&built, err);
	if (r == 0)
		r = built_load(&built, err);
	if (r == 0 && !is_rehearsed)
		r = kernel_show(&built, list, err);
	built_close(&built);
	return r;
}
