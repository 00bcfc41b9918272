/* SPDX-License-Identifier: MIT */
/* datasetfsctl dump: writes the text whose SHA-256 is the digest of a version, or the same as JSON with full paths. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/json.h"
#include "image/catalogue/dump.h"
#include "image/chunk.h"
#include "image/inode.h"
#include "text.h"
#include "verb.h"
#include "volume.h"
#include "walk.h"

static const struct option_spec dump_table[] = {
	VERB_OPTIONS_DEMANDS,
	{ "json", 0, NULL, OPTION_TRUE(struct verb_options, json),
	  "print one JSON object for each name, with its path" },
	{ 0 },
};

const struct command_line dump_line = {
	.program = "datasetfsctl dump",
	.usage = "VOLUME|MNT [LABEL]",
	.operands = { 1, 2 },
	.summary = "Write the text that describes a version.\n"
		   "Without LABEL, the version is the one that MNT serves or the current one of VOLUME.\n"
		   "The text contains no place on the volume; its SHA-256 is the digest of the version.",
	.options = dump_table,
};

/* --- JSON --- */

struct dump_json {
	const struct index *index;
	struct json json;
	struct error *err;
};

static int dump_json_chunks(struct dump_json *dump, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(dump->index, inode);
	struct chunk chunk;
	char sum[SUM_TEXT_SIZE];
	int r;

	json_begin_array(&dump->json, "chunks");
	for (uint64_t i = 0; i < count; i++) {
		r = chunk_get(dump->index, inode, i, &chunk, dump->err);
		if (r < 0)
			return r;
		json_begin_object(&dump->json, NULL);
		json_number(&dump->json, "length", chunk.length);
		if (chunk_is_hole(&chunk))
			json_null(&dump->json, "sum");
		else
			json_string(&dump->json, "sum", sum_text(&chunk.sum, sum));
		json_end_object(&dump->json);
	}
	json_end_array(&dump->json);
	return 0;
}

static int dump_json_content(struct dump_json *dump, const struct inode *inode)
{
	struct span target;
	int r;

	if (S_ISREG(inode->mode))
		return dump_json_chunks(dump, inode);
	if (!S_ISLNK(inode->mode))
		return 0;
	r = inode_link_target(dump->index, inode, &target, dump->err);
	if (r == 0)
		json_bytes(&dump->json, "target", target.base, target.size);
	return r;
}

static int dump_json_line(struct dump_json *dump, const struct walk_entry *entry)
{
	struct json *json = &dump->json;
	struct inode inode;
	char mode[8];
	int r;

	r = inode_get(dump->index, entry->ordinal, &inode, dump->err);
	if (r < 0)
		return r;
	*json = (struct json){ .out = stdout };
	snprintf(mode, sizeof(mode), "%04o", inode.mode & 07777);
	json_begin_object(json, NULL);
	json_bytes(json, "path", entry->path, entry->length);
	json_number(json, "ordinal", entry->ordinal);
	json_string(json, "type", S_ISDIR(inode.mode) ? "directory" : S_ISLNK(inode.mode) ? "symlink" : "file");
	json_string(json, "mode", mode);
	json_number(json, "uid", inode.uid);
	json_number(json, "gid", inode.gid);
	json_signed(json, "mtime", inode.mtime);
	json_number(json, "mtime_nsec", inode.mtime_nsec);
	json_number(json, "nlink", inode.nlink);
	json_number(json, "size", inode.size);
	json_begin_array(json, "xattrs");
	r = inode_xattrs(dump->index, &inode, text_json_xattr, json, dump->err);
	json_end_array(json);
	if (r == 0)
		r = dump_json_content(dump, &inode);
	json_end_object(json);
	putchar('\n');
	return r;
}

static int dump_json(const struct index *index, struct error *err)
{
	struct dump_json dump = { .index = index, .err = err };
	auto_walk struct walk *walk = NULL;
	struct walk_entry entry;
	int r, written = 0;

	r = walk_open(index, NULL, &walk, err);
	if (r < 0)
		return r;
	while (written == 0 && (r = walk_next(walk, &entry, err)) > 0)
		written = dump_json_line(&dump, &entry);
	return written < 0 ? written : r;
}

/* --- text --- */

static int dump_put(void *argument, const char *text, size_t length)
{
	(void)argument;
	return fwrite(text, 1, length, stdout) == length ? 0 : -EIO;
}

static int dump_version(const struct volume *volume, const char *label, const struct verb_options *options,
			struct error *err)
{
	const struct version *version = NULL;
	struct index *index = NULL;
	int r = demands_open(&options->demands, volume, label, &version, &index, err);

	if (r < 0)
		return r;
	r = options->json ? dump_json(index, err) : dump_text(index, dump_put, NULL, err);
	index_close(index);
	return r;
}

int dump_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&dump_line, argc, argv, &options, &operands, &status))
		return status;
	r = volume_open_loaded(argv[1], &volume, &err);
	if (r == 0)
		r = dump_version(volume, operands > 1 ? argv[2] : NULL, &options, &err);
	if (r < 0) {
		log_error(&err, "cannot dump '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
