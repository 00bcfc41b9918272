/* SPDX-License-Identifier: MIT */
/* Reads /proc/self/mountinfo, as datasetfsctl does. */
#include "exporter/mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "device/occupied.h"

void mounts_free(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++)
		free(mounts->list[i].point);
	free(mounts->list);
	*mounts = (struct mounts){ 0 };
}

static bool mounts_has(const struct mounts *mounts, dev_t device)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->list[i].device == device)
			return true;
	return false;
}

/* Returns whether wanted is one of the comma-separated options. */
static bool mounts_has_option(const char *options, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *at = options; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, wanted, length) && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

/* Drops an earlier mount on the same point: the new one hides it. */
static void mounts_drop(struct mounts *mounts, const char *point)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (!strcmp(mounts->list[i].point, point)) {
			free(mounts->list[i].point);
			mounts->list[i] = mounts->list[--mounts->count];
			return;
		}
}

/* Drops the last mount of a user to make room for one of root's. False: there is none. */
static bool mounts_make_room(struct mounts *mounts, bool for_root)
{
	for (size_t i = mounts->count; for_root && i-- > 0;)
		if (!mounts->list[i].is_roots) {
			free(mounts->list[i].point);
			mounts->list[i] = mounts->list[--mounts->count];
			return true;
		}
	return false;
}

static int mounts_add(struct mounts *mounts, const struct mountinfo *info, bool is_kernels, struct error *err)
{
	bool is_roots = is_kernels || mounts_has_option(info->options, "user_id=0");
	int r;

	mounts_drop(mounts, info->point);
	if (mounts->count == MOUNTS_MAX) {
		mounts->left_out++;
		if (!mounts_make_room(mounts, is_roots))
			return 0;
	}
	r = grow_one(mounts->list, mounts->count, err);
	if (r < 0)
		return r;
	mounts->list[mounts->count] = (struct mounts_entry){
		.device = info->device,
		.point = strdup(info->point),
		.is_shared = is_kernels || mounts_has_option(info->options, "allow_other"),
		.is_roots = is_roots,
		.is_kernels = is_kernels,
	};
	if (!mounts->list[mounts->count].point)
		return error_no_memory(err);
	mounts->count++;
	return 0;
}

int mounts_see(struct mounts *mounts, const struct mountinfo *info, struct error *err)
{
	struct occupied_view view;
	enum occupied_by server = occupied_server(info, &view);

	/* A bind mount of a folder has no .datasetfs at its top. */
	if (server == OCCUPIED_BY_OTHERS || strcmp(info->root, "/") != 0 || mounts_has(mounts, info->device))
		return 0;
	return mounts_add(mounts, info, server == OCCUPIED_BY_KERNEL, err);
}

static int mounts_visit(void *argument, const struct mountinfo *info, struct error *err)
{
	return mounts_see(argument, info, err);
}

int mounts_read(struct mounts *ret, struct error *err)
{
	struct mounts mounts = { 0 };
	int r = mountinfo_each(mounts_visit, &mounts, err);

	if (r < 0)
		mounts_free(&mounts);
	else
		*ret = mounts;
	return r;
}
