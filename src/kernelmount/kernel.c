/* SPDX-License-Identifier: MIT */
/* Shows a mount that was built elsewhere, in one step. */
#include "kernelmount/kernel.h"

#include "base/log.h"
#include "base/text/format.h"
#include "device/occupied.h"
#include "kernelmount/built.h"
#include "kernelmount/fsmount.h"

static int kernel_show(struct built *built, struct error *err)
{
	const struct mount_options *options = built->options;
	char bytes[SIZE_TEXT_SIZE];
	int r = built_image(built, err);

	if (r == 0)
		r = built_mount(built, err);
	if (r == 0)
		r = occupied_check(options->mountpoint, NULL, err);
	if (r == 0)
		r = fsmount_show(built->tree, options->mountpoint, err);
	if (r == 0)
		log_info("the kernel serves '%s': version '%s' of '%s', %s of metadata in memory; nothing is verified",
			 options->mountpoint, built->version->label, options->volume,
			 format_size(erofs_image_sizes(built->image).bytes, bytes));
	return r;
}

int kernel_mount(const struct mount_options *options, bool is_rehearsed, struct error *err)
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
		r = kernel_show(&built, err);
	built_close(&built);
	return r;
}
