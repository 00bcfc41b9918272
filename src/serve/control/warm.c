/* SPDX-License-Identifier: MIT */
/* Checks a command and who gives it, and hands it to the jobs. */
#include "serve/control/warm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "datasetfs/control.h"
#include "serve/cache/warm_jobs.h"
#include "serve/cache/warmer.h"
#include "serve/request/caller.h"
#include "serve/request/reply.h"
#include "serve/serve.h"

static int warm_check(const struct serve *serve, const struct channel_request *request,
		      const struct dsfs_warm *command, struct error *err)
{
	if (!serve->options.cache)
		return error_set(err, -EOPNOTSUPP, "the mount has no cache, mount it with -o cache=DIR");
	if (!serve->warmer)
		return error_set(err, -EOPNOTSUPP, "the mount keeps no contents in '%s', its log says why",
				 serve->options.cache);
	if (command->flags & ~(DSFS_WARM_GO | DSFS_WARM_STOP))
		return error_set(err, -EINVAL, "command with unknown flags %#x", command->flags);
	if (command->count > DSFS_WARM_MOST)
		return error_set(err, -EINVAL, "%" PRIu32 " files, expected at most %u", command->count,
				 DSFS_WARM_MOST);
	return caller_check(serve, request, err);
}

void warm_ioctl(struct worker *worker, struct channel_request *request)
{
	struct dsfs_warm command;
	struct error err = { 0 };
	int r;

	if (request->wire.rest_length < sizeof(command) || request->wire.in.ioctl.out_size < WARM_JOBS_ANSWER) {
		reply_error(worker, request, -ENOTTY);
		return;
	}
	memcpy(&command, request->wire.rest, sizeof(command));
	r = warm_check(worker->serve, request, &command, &err);
	if (r == 0)
		r = warmer_command(worker->serve->warmer, &command, &err);
	if (r < 0)
		snprintf(command.reason, sizeof(command.reason), "%s", err.reason);
	reply_ioctl(worker, request, r, &command, WARM_JOBS_ANSWER);
}
