/* SPDX-License-Identifier: MIT */
/* Keeps the folder open for the life of the mount, and with the supervisor for a successor. */
#include "serve/local/local.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "supervisor/keep.h"
#include "tier/folder.h"

struct local {
	int folder; /* the descriptor */
};

static int local_adopt(struct serve *serve, int *ret)
{
	*ret = keep_take(serve->keep, "cache");
	if (*ret < 0)
		log_warn("the former server left no descriptor of '%s', the mount goes on without a cache",
			 serve->options.cache);
	return 0;
}

static int local_open_folder(struct serve *serve, int *ret, struct error *err)
{
	int r = folder_open(serve->options.cache, ret, err);

	return r < 0 ? r : keep_put(serve->keep, *ret, err, "cache");
}

int local_open(struct serve *serve, struct error *err)
{
	auto_close int folder = -1;
	struct local *local;
	int r;

	if (!serve->options.cache)
		return 0;
	r = serve->adopts ? local_adopt(serve, &folder) : local_open_folder(serve, &folder, err);
	if (r < 0 || folder < 0)
		return r;
	local = calloc(1, sizeof(*local));
	if (!local)
		return error_no_memory(err);
	local->folder = take_fd(&folder);
	serve->local = local;
	return 0;
}

void local_free(struct local *local)
{
	if (!local)
		return;
	close_fd(&local->folder);
	free(local);
}
