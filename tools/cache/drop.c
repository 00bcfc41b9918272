/* SPDX-License-Identifier: MIT */
/* datasetfsctl cache drop: removes copies, all of them, those of a volume or that of a version. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "base/text/parse.h"
#include "cache/cache.h"
#include "cache/copy.h"
#include "cache/folder.h"
#include "cache/store.h"

static const struct option_spec drop_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line cache_drop_line = {
	.program = "datasetfsctl cache drop",
	.usage = "DIR [VOLUME [LABEL]]",
	.operands = { 1, 3 },
	.summary = "Drop the copies of all volumes, of one, or of a version.\n"
		   "VOLUME is a UUID, as 'cache list' shows it. Mounts go on.",
	.options = drop_table,
};

struct drop {
	int folder, volume;
	bool has_volume;
	uint8_t uuid[16];  /* of the volume, if has_volume */
	const char *label; /* of the version; NULL: all */
	bool found;        /* the volume has a folder */
	uint64_t count, bytes; /* of copies */
	uint64_t contents;     /* bytes of contents, and of the table that says where they are */
};

static int drop_copy(void *argument, const struct copy_file *file, struct error *err)
{
	struct drop *drop = argument;

	(void)err;
	if (drop->label && strcmp(drop->label, file->copy.label) != 0)
		return 0;
	copy_remove(drop->volume, &file->copy);
	drop->count++;
	drop->bytes += file->bytes;
	return 0;
}

static int drop_volume(void *argument, const uint8_t uuid[16], int volume, struct error *err)
{
	struct drop *drop = argument;
	int r;

	if (drop->has_volume && memcmp(drop->uuid, uuid, sizeof(drop->uuid)) != 0)
		return 0;
	drop->found = true;
	drop->volume = volume;
	r = copy_each(volume, drop_copy, drop, err);
	if (r == 0 && !drop->label) {
		r = copy_prune(volume, NULL, 0, err); /* what killed processes left */
		drop->contents += store_look(volume).bytes;
		store_remove(volume);
	}
	if (r == 0)
		folder_remove_volume(drop->folder, uuid);
	return r;
}

static int drop_all(struct drop *drop, const char *path, char *const *words, struct error *err)
{
	int r = folder_each_volume(drop->folder, drop_volume, drop, err);

	if (r < 0)
		return r;
	if (drop->has_volume && !drop->found)
		return error_set(err, -ENOENT, "cache '%s' has nothing of the volume %s", path, words[0]);
	if (drop->label && !drop->count)
		return error_set(err, -ENOENT, "cache '%s' has nothing of version '%s'", path, drop->label);
	return 0;
}

static void drop_text(const struct drop *drop)
{
	char size[SIZE_TEXT_SIZE];

	if (drop->contents && !drop->count)
		printf("contents dropped, %s\n", format_size(drop->contents, size));
	else
		printf("%s%" PRIu64 " %s dropped, %s\n", drop->contents ? "contents and " : "", drop->count,
		       drop->count == 1 ? "copy" : "copies", format_size(drop->bytes + drop->contents, size));
}

static void drop_json(const struct drop *drop)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_number(&json, "copies", drop->count);
	json_number(&json, "content_bytes", drop->contents);
	json_number(&json, "bytes", drop->bytes + drop->contents);
	json_end_object(&json);
	putchar('\n');
}

int cache_drop_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	struct drop drop = { .folder = -1 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&cache_drop_line, argc, argv, &options, &operands, &status))
		return status;
	drop.has_volume = operands > 1;
	drop.label = operands > 2 ? argv[3] : NULL;
	if (drop.has_volume && parse_uuid(argv[2], drop.uuid, &err) < 0) {
		log_err("volume: %s", err.reason);
		return VERB_USAGE;
	}
	r = folder_look(argv[1], &drop.folder, &err);
	if (r == 0)
		r = drop_all(&drop, argv[1], argv + 2, &err);
	close_fd(&drop.folder);
	if (r < 0) {
		log_err("%s", err.reason);
		return VERB_FAILED;
	}
	(options.json ? drop_json : drop_text)(&drop);
	return VERB_DONE;
}
