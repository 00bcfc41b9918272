/* SPDX-License-Identifier: MIT */
/* Writes the versions of a volume as JSON, and keeps a text as a snapshot for the user who looked it up. */
#include "serve/dotdir/describe.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/text/json.h"
#include "base/text/memstream.h"
#include "datasetfs/control.h"
#include "image/catalogue/version_json.h"
#include "serve/request/caller.h"
#include "serve/request/reply.h"

int describe_catalogue(const struct catalogue *catalogue, char **ret, size_t *ret_length)
{
	struct json json = { .out = memstream_open(ret, ret_length) };

	if (!json.out)
		return -ENOMEM;
	json_begin_array(&json, NULL);
	for (uint32_t i = 0; i < catalogue->version_count; i++) {
		json_begin_object(&json, NULL);
		version_json(&catalogue->versions[i], &json);
		json_bool(&json, DSFS_CONTROL_IS_CURRENT, catalogue->versions[i].sequence == catalogue->current);
		json_end_object(&json);
	}
	json_end_array(&json);
	fputc('\n', json.out);
	return memstream_close(json.out, ret, NULL);
}

static int describe_keep(struct worker *worker, const struct channel_request *request, enum snapshots_file file,
			 char *text, size_t length, struct fuse_entry_out *ret)
{
	static struct log_limit limit = { .burst = 5 };
	uint32_t uid = caller_share(worker->serve, request);
	struct error ignored;
	unsigned suppressed;
	int r = snapshots_keep(worker->serve->snapshots, file, uid, false, text, length, ret);

	if (r < 0 && caller_check(worker->serve, request, &ignored) == 0)
		r = snapshots_keep(worker->serve->snapshots, file, uid, true, text, length, ret);
	if (r == -EDQUOT && log_allow(&limit, &suppressed))
		log_warn("user %u holds %u files of '" DSFS_CONTROL_FOLDER "' open, refusing more, "
			 "suppressed=%u", (unsigned)uid, SNAPSHOTS_OF_USER, suppressed);
	else if (r == -ENFILE && log_allow(&limit, &suppressed))
		log_warn("all users hold %u files of '" DSFS_CONTROL_FOLDER "' open, refusing more, "
			 "suppressed=%u", SNAPSHOTS_OF_USERS, suppressed);
	if (r < 0)
		free(text);
	return r;
}

void describe_reply(struct worker *worker, struct channel_request *request, enum snapshots_file file, char *text,
		    size_t length)
{
	struct fuse_entry_out entry;
	int r = describe_keep(worker, request, file, text, length, &entry);

	if (r < 0)
		reply_error(worker, request, r);
	else if (!reply_data(worker, request, &entry, sizeof(entry)))
		snapshots_forget(worker->serve->snapshots, entry.nodeid, 1);
}
