/* SPDX-License-Identifier: MIT */
/* Takes it from the mount's own report. */
#include "describe/common/kept.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text/format.h"
#include "mounts/reported.h"
#include "text.h"

/* NULL: there is no mount, it does not answer, or has no cache. */
static struct reported *kept_ask(const struct volume *volume, const char **ret_folder, struct reported_stats *ret_stats)
{
	struct reported_field cache;
	struct reported *reported;

	if (!volume->mount || reported_open(volume->mount, &reported, NULL) < 0)
		return NULL;
	reported_take(reported, ret_stats);
	if (!reported_option_by_name(reported, "cache", &cache) || !*cache.value) {
		reported_close(reported);
		return NULL;
	}
	*ret_folder = cache.value;
	return reported;
}

void kept_text(const struct volume *volume)
{
	cleanup(reported_close_ptr) struct reported *reported = NULL;
	char used[SIZE_TEXT_SIZE], size[SIZE_TEXT_SIZE];
	struct reported_stats stats;
	const char *folder;

	reported = kept_ask(volume, &folder, &stats);
	if (!reported)
		return;
	printf("cache        '");
	text_write(stdout, folder, strlen(folder));
	if (stats.local_size)
		printf("' of this machine keeps contents, %s of %s used\n", format_size(stats.local_used, used),
		       format_size(stats.local_size, size));
	else
		printf("' of this machine keeps indexes, and no contents\n");
}

void kept_json(const struct volume *volume, struct json *json)
{
	cleanup(reported_close_ptr) struct reported *reported = NULL;
	struct reported_stats stats;
	const char *folder;

	reported = kept_ask(volume, &folder, &stats);
	if (!reported) {
		json_null(json, "cache");
		return;
	}
	json_begin_object(json, "cache");
	json_string(json, "folder", folder);
	json_number(json, "used_bytes", stats.local_used);
	json_number(json, "size_bytes", stats.local_size);
	json_end_object(json);
}
