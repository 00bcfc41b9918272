/* SPDX-License-Identifier: MIT */
/* datasetfsctl ls: lists names of a version, in bytewise order. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/json.h"
#include "extract/data_set.h"
#include "image/inode.h"
#include "image/names/names.h"
#include "text.h"
#include "verb.h"
#include "walk.h"

struct ls_options {
	struct verb_options verb;
	const char *version;
	bool is_long, recursive;
};

static const struct option_spec ls_table[] = {
	VERB_OPTIONS_DEMANDS,
	VERB_OPTION_JSON,
	{ "long", 'l', NULL, OPTION_TRUE(struct ls_options, is_long), "show modes, owners, sizes, times and targets" },
	{ "recursive", 'R', NULL, OPTION_TRUE(struct ls_options, recursive), "list what is in directories, and so on" },
	{ "version", 0, "L", OPTION_TEXT(struct ls_options, version, version_check_label),
	  "look in version L instead of the current one" },
	{ 0 },
};

const struct command_line ls_line = {
	.program = "datasetfsctl ls",
	.usage = "VOLUME|MNT [PATH]...",
	.operands = { 1, OPERANDS_ANY },
	.summary = "List names of a version.\n"
		   "Without PATH, those in its root. With several, or --recursive, names are paths from the root.",
	.options = ls_table,
};

struct ls {
	const struct ls_options *options;
	const struct index *index;
	struct json json;
	struct error *err;
};

/* ---- an entry ---- */

static void ls_mode(uint32_t mode, char text[11])
{
	static const char letters[] = "rwxrwxrwx";

	text[0] = S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : '-';
	for (int i = 0; i < 9; i++)
		text[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
	if (mode & S_ISUID)
		text[3] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		text[6] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		text[9] = mode & S_IXOTH ? 't' : 'T';
	text[10] = 0;
}

static int ls_target(const struct ls *ls, const struct inode *inode, struct span *ret)
{
	*ret = (struct span){ 0 };
	return S_ISLNK(inode->mode) ? inode_link_target(ls->index, inode, ret, ls->err) : 0;
}

static int ls_text(const struct ls *ls, const char *name, size_t length, const struct inode *inode)
{
	char mode[11], date[TEXT_TIME_SIZE];
	struct span target;
	int r = ls_target(ls, inode, &target);

	if (r < 0)
		return r;
	if (ls->options->is_long) {
		ls_mode(inode->mode, mode);
		printf("%s %3" PRIu32 " %6" PRIu32 " %6" PRIu32 " %12" PRIu64 " %s ", mode, inode->nlink, inode->uid,
		       inode->gid, inode->size, text_time(inode->mtime, date));
	}
	text_write(stdout, name, length);
	if (ls->options->is_long && S_ISLNK(inode->mode)) {
		printf(" -> ");
		text_write(stdout, target.base, target.size);
	}
	putchar('\n');
	return 0;
}

static int ls_json(struct ls *ls, const char *name, size_t length, const struct inode *inode)
{
	struct json *json = &ls->json;
	struct span target;
	char mode[8];
	int r = ls_target(ls, inode, &target);

	if (r < 0)
		return r;
	snprintf(mode, sizeof(mode), "%04o", inode->mode & 07777);
	json_begin_object(json, NULL);
	json_bytes(json, "name", name, length);
	json_string(json, "type", text_type(inode->mode));
	json_string(json, "mode", mode);
	json_number(json, "nlink", inode->nlink);
	json_number(json, "uid", inode->uid);
	json_number(json, "gid", inode->gid);
	json_number(json, "size", inode->size);
	json_signed(json, "mtime", inode->mtime);
	if (S_ISLNK(inode->mode))
		json_bytes(json, "target", target.base, target.size);
	json_end_object(json);
	return 0;
}

static int ls_entry(struct ls *ls, const char *name, size_t length, uint64_t ordinal)
{
	struct inode inode;
	int r = inode_get(ls->index, ordinal, &inode, ls->err);

	if (r < 0)
		return r;
	return ls->options->verb.json ? ls_json(ls, name, length, &inode) : ls_text(ls, name, length, &inode);
}

/* ---- a path ---- */

static int ls_walk(struct ls *ls, const char *path)
{
	auto_walk struct walk *walk = NULL;
	struct walk_entry entry;
	int r = walk_open(ls->index, path, &walk, ls->err), shown = 0;

	if (r < 0)
		return r;
	while (shown == 0 && (r = walk_next(walk, &entry, ls->err)) > 0)
		if (entry.name_length) /* it is not the directory itself */
			shown = ls_entry(ls, entry.path + 1, entry.length - 1, entry.ordinal);
	return shown < 0 ? shown : r;
}

/* A directory whose names are listed, with the text before each. */
struct ls_folder {
	struct ls *ls;
	const char *prefix;
	int r;
};

static int ls_name(void *argument, const struct names_entry *entry)
{
	struct ls_folder *folder = argument;
	auto_free char *path = NULL;
	int length = asprintf(&path, "%s%.*s", folder->prefix, (int)entry->name_length, entry->name);

	if (length < 0) {
		path = NULL;
		folder->r = error_no_memory(folder->ls->err);
	} else {
		folder->r = ls_entry(folder->ls, path, (size_t)length, entry->ordinal);
	}
	return folder->r < 0;
}

static int ls_folder(struct ls *ls, const char *prefix, uint64_t ordinal)
{
	struct ls_folder folder = { .ls = ls, .prefix = prefix };
	int listed = names_list(ls->index->names, ordinal, 0, ls_name, &folder);

	if (listed < 0)
		return error_set(ls->err, listed, "the names cannot be read: %s", strerror(-listed));
	return folder.r;
}

/* Lists a directory, or shows another file. */
static int ls_path(struct ls *ls, const char *path, bool with_paths)
{
	auto_free char *prefix = NULL;
	struct inode inode;
	uint64_t ordinal;
	size_t length;
	int r = walk_find(ls->index->names, path, &ordinal, ls->err);

	if (r == 0)
		r = inode_get(ls->index, ordinal, &inode, ls->err);
	if (r < 0)
		return r;
	path += strspn(path, "/");
	for (length = strlen(path); length && path[length - 1] == '/';)
		length--;
	if (!S_ISDIR(inode.mode))
		return ls_entry(ls, path, length, ordinal);
	if (ls->options->recursive)
		return ls_walk(ls, path);
	if (asprintf(&prefix, "%.*s%s", (int)length, path, length ? "/" : "") < 0) {
		prefix = NULL;
		return error_no_memory(ls->err);
	}
	return ls_folder(ls, with_paths ? prefix : "", ordinal);
}

static int ls_paths(struct ls *ls, char *const *paths, int count)
{
	int r = 0;

	if (!count)
		return ls_path(ls, "/", false);
	for (int i = 0; r == 0 && i < count; i++)
		r = ls_path(ls, paths[i], count > 1);
	return r;
}

static int ls_show(struct ls *ls, const struct data_set *set, char *const *paths, int count)
{
	int r;

	if (!ls->options->verb.json)
		return ls_paths(ls, paths, count);
	json_begin_object(&ls->json, NULL);
	json_string(&ls->json, "volume", set->volume->path);
	json_string(&ls->json, "label", set->version->label);
	json_begin_array(&ls->json, "entries");
	r = ls_paths(ls, paths, count);
	json_end_array(&ls->json);
	json_end_object(&ls->json);
	putchar('\n');
	return r;
}

int ls_run(int argc, char **argv)
{
	struct ls_options options = { 0 };
	auto_data_set struct data_set set = { 0 };
	struct error err = { 0 };
	struct ls ls = { .options = &options, .json = { .out = stdout }, .err = &err };
	int operands, status, r;

	if (!verb_parse(&ls_line, argc, argv, &options, &operands, &status))
		return status;
	r = data_set_open(argv[1], options.version, &options.verb.demands, &set, &err);
	ls.index = set.index;
	if (r == 0)
		r = ls_show(&ls, &set, argv + 2, operands - 1);
	if (r < 0) {
		log_error(&err, "cannot list '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
