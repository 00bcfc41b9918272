/* SPDX-License-Identifier: MIT */
/* Asks all mounts of the machine in processes of their own, as one that hangs must not hold up the command. */
#include "warm/filler.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/same.h"
#include "mounts/watch.h"

/* A mount as it reports about itself, and the folder of its cache. */
struct filler_side {
	struct reported_stats stats;
	struct stat folder;
};

static bool filler_ask(const char *mount, struct filler_side *ret)
{
	cleanup(reported_close_ptr) struct reported *reported = NULL;
	struct reported_field cache;

	if (reported_open(mount, &reported, NULL) < 0)
		return false;
	reported_take(reported, &ret->stats);
	return ret->stats.local_size && reported_option_by_name(reported, "cache", &cache) &&
	       stat(cache.value, &ret->folder) == 0;
}

/* A mount of the same volume may have another folder. It is asked again for that, once it has answered. */
static bool filler_is(const struct watch_mount *mount, const struct filler_side *own)
{
	struct filler_side side;

	return mount->state == WATCH_ANSWERS && !mount->stats.local_follows &&
	       !memcmp(mount->stats.volume_uuid, own->stats.volume_uuid, sizeof(own->stats.volume_uuid)) &&
	       filler_ask(mount->mounted.point, &side) && same_file(&side.folder, &own->folder);
}

static bool filler_choose(const struct watch *watch, const struct filler_side *own, char **ret)
{
	for (size_t i = 0; i < watch->count; i++)
		if (filler_is(watch->mounts[i], own))
			return (*ret = strdup(watch->mounts[i]->mounted.point)) != NULL;
	return false;
}

bool filler_find(const char *mount, char **ret)
{
	struct watch watch = { 0 };
	struct filler_side own;
	bool is_found;

	if (!filler_ask(mount, &own) || !own.stats.local_follows)
		return false;
	is_found = watch_open(&watch, NULL, 0, NULL) == 0 && watch_ask(&watch, NULL) == 0 &&
		   watch_wait(&watch, NULL) == 0 && filler_choose(&watch, &own, ret);
	watch_close(&watch);
	return is_found;
}
