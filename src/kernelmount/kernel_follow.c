/* SPDX-License-Identifier: MIT */
/* A look opens nothing of the mount, so that it can be unmounted meanwhile, unless a switch is due; between looks the
 * process reads ahead. */
#include "kernelmount/kernel_follow.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "device/mount_record.h"
#include "kernelmount/built.h"
#include "kernelmount/kernel_switch.h"
#include "kernelmount/walks.h"
#include "options/option_list.h"

#define KERNEL_FOLLOW_PERIOD 5 /* seconds, without the mount option */

/* Whether another version is to be mounted than the record says. */
static int kernel_follow_is_due(const struct mount_record *record, bool *ret, struct error *err)
{
	const struct mount_options options = { .volume = record->volume };
	struct built built = BUILT_OF(&options);
	int r = built_open(&built, err);

	if (r == 0)
		r = kernel_switch_check_volume(record, &built.super, err);
	if (r == 0)
		*ret = kernel_switch_goal(&built.catalogue, record);
	built_close(&built);
	return r;
}

/* Positive: it has switched. */
static int kernel_follow_go(const char *mountpoint, uint64_t first, struct error *err)
{
	struct dsfs_switch command = { 0 };
	int r = kernel_switch_follow(mountpoint, first, &command, err);

	if (r < 0 || !*command.label)
		return r;
	log_info("the kernel serves '%s': version '%s', which is the volume's current one", mountpoint, command.label);
	return 1;
}

static void kernel_follow_failed(const char *mountpoint, const struct error *err)
{
	static struct log_limit limit = { .burst = 2 };
	unsigned suppressed;

	if (log_allow(&limit, &suppressed))
		log_error(err, "'%s' cannot follow the volume's current version, trying again", mountpoint);
}

/* Whether it has switched, so that the mount is another one. */
static bool kernel_follow_look(const char *mountpoint, const struct mount_record *record)
{
	struct error err = { 0 };
	bool is_due = false;
	int r = kernel_follow_is_due(record, &is_due, &err);

	if (r == 0 && is_due)
		r = kernel_follow_go(mountpoint, record->first, &err);
	if (r < 0)
		kernel_follow_failed(mountpoint, &err);
	return r > 0;
}

static int kernel_follow_period(const struct mount_record *record, unsigned *ret, struct error *err)
{
	auto_free char *words = NULL;
	struct mount_options options;
	int r = option_list_read(record->options, &options, &words, err);

	if (r == 0)
		*ret = options.follow ? options.follow : KERNEL_FOLLOW_PERIOD;
	return r;
}

/* Reads the record of what is mounted there. A switch may end between the look at the mount and that at its record.
 * -ENOENT: no mount is there that has one. */
static int kernel_follow_read(const char *mountpoint, uint64_t *ret_id, struct mount_record *ret, struct error *err)
{
	uint64_t id = 0, looked;
	int r;

	do {
		looked = id;
		r = mount_record_id(AT_FDCWD, mountpoint, &id, err);
		if (r == 0)
			r = mount_record_read(MOUNT_RECORD_OWN, id, ret, err);
	} while (r == -ENOENT && id != looked);
	*ret_id = id;
	return r;
}

static int kernel_follow_on(const char *mountpoint, struct walks *walks, struct error *err)
{
	unsigned period = 0;
	uint64_t first = 0, id;

	for (bool is_first = true;; is_first = false) {
		auto_mount_record struct mount_record record = { 0 };
		struct error why = { 0 };
		int r = kernel_follow_read(mountpoint, &id, &record, is_first ? err : &why);

		if (r == 0 && is_first)
			r = kernel_follow_period(&record, &period, err);
		if (r < 0 && is_first)
			return r;
		if (is_first)
			first = record.first;
		if (r == -ENOENT || (r == 0 && record.first != first))
			return 0;
		if (r < 0)
			kernel_follow_failed(mountpoint, &why);
		else if (kernel_follow_look(mountpoint, &record))
			continue; /* looks at the new mount */
		if (r == 0)
			walks_watch(walks, id);
		walks_wait(walks, (int64_t)period * 1000000000);
	}
}

int kernel_follow(const char *mountpoint, struct error *err)
{
	struct walks *walks = walks_open(mountpoint);
	int r = kernel_follow_on(mountpoint, walks, err);

	walks_close(walks);
	return r;
}
