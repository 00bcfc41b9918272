/* SPDX-License-Identifier: MIT */
/* datasetfsctl dump: writes the text whose SHA-256 is the digest of a version, or the same as JSON with full paths. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "image/chunk.h"
#include "image/dump.h"
#include "image/index_load.h"
#include "image/inode.h"
#include "image/names.h"
#include "text.h"
#include "verb.h"
#include "volume.h"

static const struct option_spec dump_table[] = {
	{ "json", 0, NULL, OPTION_TRUE(struct verb_options, json),
	  "print one JSON object for each name, with its path" },
	{ 0 },
};

const struct command_line dump_line = {
	.program = "datasetfsctl dump",
	.usage = "VOLUME|MNT [LABEL]",
	.summary = "Write the text that describes a version.\n"
		   "Without LABEL, the version is the one that MNT serves or the current one of VOLUME.\n"
		   "The text contains no place on the volume; its SHA-256 is the digest of the version.",
	.options = dump_table,
};

/* --- JSON: a walk down each directory before its next sibling, in memory for one path --- */

struct dump_level {
	uint64_t directory;
	uint64_t next;      /* number of the entry to go on with */
	size_t path_length; /* of the directory's own path */
};

struct dump_walk {
	struct index *index;
	struct json json;
	struct dump_level *levels;
	size_t depth, room;
	char *path;
	size_t path_room;
	struct error *err;
};

static int dump_json_chunks(struct dump_walk *walk, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(walk->index, inode);
	struct chunk chunk;
	char sum[17];
	int r;

	json_begin_array(&walk->json, "chunks");
	for (uint64_t i = 0; i < count; i++) {
		r = chunk_get(walk->index, inode, i, &chunk, walk->err);
		if (r < 0)
			return r;
		json_begin_object(&walk->json, NULL);
		json_number(&walk->json, "length", chunk.length);
		if (chunk_is_hole(&chunk)) {
			json_null(&walk->json, "sum");
		} else {
			snprintf(sum, sizeof(sum), "%016" PRIx64, chunk.sum);
			json_string(&walk->json, "sum", sum);
		}
		json_end_object(&walk->json);
	}
	json_end_array(&walk->json);
	return 0;
}

static int dump_json_content(struct dump_walk *walk, const struct inode *inode)
{
	struct span target;
	int r;

	if (S_ISREG(inode->mode))
		return dump_json_chunks(walk, inode);
	if (!S_ISLNK(inode->mode))
		return 0;
	r = inode_link_target(walk->index, inode, &target, walk->err);
	if (r == 0)
		json_bytes(&walk->json, "target", target.base, target.size);
	return r;
}

static const char *dump_type(uint32_t mode)
{
	return S_ISDIR(mode) ? "directory" : S_ISLNK(mode) ? "symlink" : "file";
}

/* One line for the inode that has the walk's path of this length. */
static int dump_json_line(struct dump_walk *walk, uint64_t ordinal, size_t path_length)
{
	struct json *json = &walk->json;
	struct inode inode;
	char mode[8];
	int r;

	r = inode_get(walk->index, ordinal, &inode, walk->err);
	if (r < 0)
		return r;
	*json = (struct json){ .out = stdout };
	snprintf(mode, sizeof(mode), "%04o", inode.mode & 07777);
	json_begin_object(json, NULL);
	json_bytes(json, "path", path_length ? walk->path : "/", path_length ? path_length : 1);
	json_number(json, "ordinal", ordinal);
	json_string(json, "type", dump_type(inode.mode));
	json_string(json, "mode", mode);
	json_number(json, "uid", inode.uid);
	json_number(json, "gid", inode.gid);
	json_signed(json, "mtime", inode.mtime);
	json_number(json, "mtime_nsec", inode.mtime_nsec);
	json_number(json, "nlink", inode.nlink);
	json_number(json, "size", inode.size);
	json_begin_array(json, "xattrs");
	r = inode_xattrs(walk->index, &inode, text_json_xattr, json, walk->err);
	json_end_array(json);
	if (r == 0)
		r = dump_json_content(walk, &inode);
	json_end_object(json);
	putchar('\n');
	return r;
}

static int dump_make_room(void *array, size_t *room, size_t wanted, size_t size, struct error *err)
{
	size_t more = *room * 2 > wanted ? *room * 2 : wanted + 64;
	void *moved;

	if (wanted <= *room)
		return 0;
	moved = realloc(*(void **)array, more * size);
	if (!moved)
		return error_set(err, -ENOMEM, "no memory for %zu bytes", more * size);
	*(void **)array = moved;
	*room = more;
	return 0;
}

static int dump_push(struct dump_walk *walk, uint64_t directory, size_t path_length)
{
	int r = dump_make_room(&walk->levels, &walk->room, walk->depth + 1, sizeof(*walk->levels), walk->err);

	if (r == 0)
		walk->levels[walk->depth++] = (struct dump_level){ directory, 0, path_length };
	return r;
}

/* A subdirectory ends the listing with 1: it is the next level; the listing goes on behind it later. */
static int dump_entry(void *argument, const struct names_entry *entry)
{
	struct dump_walk *walk = argument;
	struct dump_level *level = &walk->levels[walk->depth - 1];
	size_t length = level->path_length + 1 + entry->name_length;
	int r;

	r = dump_make_room(&walk->path, &walk->path_room, length, 1, walk->err);
	if (r < 0)
		return r;
	walk->path[level->path_length] = '/';
	memcpy(walk->path + level->path_length + 1, entry->name, entry->name_length);
	level->next = entry->number + 1;
	r = dump_json_line(walk, entry->ordinal, length);
	if (r < 0 || entry->type != DT_DIR)
		return r;
	r = dump_push(walk, entry->ordinal, length);
	return r < 0 ? r : 1;
}

static int dump_json_tree(struct dump_walk *walk, struct names_reader *reader)
{
	int r;

	r = dump_json_line(walk, INODE_ROOT, 0);
	if (r == 0)
		r = dump_push(walk, INODE_ROOT, 0);
	while (r >= 0 && walk->depth) {
		const struct dump_level *level = &walk->levels[walk->depth - 1];

		r = names_list(reader, level->directory, level->next, dump_entry, walk);
		walk->depth -= r == 0;
	}
	if (r < 0 && !walk->err->code)
		return error_set(walk->err, r, "the names cannot be read: %s", strerror(-r));
	return r < 0 ? r : 0;
}

static int dump_json(struct index *index, struct error *err)
{
	struct dump_walk walk = { .index = index, .err = err };
	struct names_reader *reader = NULL;
	int r;

	r = names_reader_open(index->names, &reader, err);
	if (r == 0)
		r = dump_json_tree(&walk, reader);
	names_reader_close(reader);
	free(walk.levels);
	free(walk.path);
	return r;
}

/* --- text --- */

static int dump_put(void *argument, const char *text, size_t length)
{
	(void)argument;
	return fwrite(text, 1, length, stdout) == length ? 0 : -EIO;
}

static int dump_version(const struct volume *volume, const char *label, bool json, struct error *err)
{
	const struct version *version = NULL;
	struct index *index = NULL;
	int r;

	r = volume_version(volume, label, &version, err);
	if (r == 0)
		r = index_load(&volume->array->source, version, &volume->catalogue.members, &index, err);
	if (r < 0)
		return r;
	r = json ? dump_json(index, err) : dump_text(index, dump_put, NULL, err);
	index_close(index);
	return r;
}

int dump_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&dump_line, argc, argv, &options, 1, 2, &operands, &status))
		return status;
	r = volume_open_loaded(argv[1], &volume, &err);
	if (r == 0)
		r = dump_version(volume, operands > 1 ? argv[2] : NULL, options.json, &err);
	if (r < 0) {
		log_error(&err, "cannot dump '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
