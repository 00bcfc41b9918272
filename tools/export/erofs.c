/* SPDX-License-Identifier: MIT */
/* datasetfsctl export erofs: writes an image by which the kernel itself can mount a version. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "erofs/erofs_image.h"
#include "export/export.h"
#include "extract/data_set.h"
#include "extract/outfile.h"
#include "text.h"

/* Characters that no shell requires to be quoted. */
#define EROFS_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+:@%"

struct erofs_options {
	struct verb_options verb;
	bool force, dry_run, suid;
};

static const struct option_spec erofs_table[] = {
	VERB_OPTIONS_DEMANDS,
	{ "dry-run", 0, NULL, OPTION_TRUE(struct erofs_options, dry_run), "say how large FILE would be" },
	{ "force", 0, NULL, OPTION_TRUE(struct erofs_options, force), "replace FILE if it is there" },
	{ "suid", 0, NULL, OPTION_TRUE(struct erofs_options, suid), "keep set-uid and set-gid bits" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line export_erofs_line = {
	.program = "datasetfsctl export erofs",
	.usage = "VOLUME|MNT LABEL FILE",
	.operands = { 3, 3 },
	.summary = "Write a version as metadata of an EROFS.\n"
		   "The content stays on the volume: the kernel mounts FILE with the volume as a further device.",
	.options = erofs_table,
};

/* A version laid out as an EROFS. */
struct erofs_export {
	struct data_set set;
	struct erofs_image *image;
};

static void erofs_close(struct erofs_export *export)
{
	erofs_image_free(export->image);
	data_set_close(&export->set);
}

static int erofs_plan(const char *name, const char *label, const struct erofs_options *options,
		      struct erofs_export *export, struct error *err)
{
	struct data_set *set = &export->set;
	int r = data_set_open(name, label, &options->verb.demands, set, err);

	return r < 0 ? r : erofs_image_plan(set->volume->array, set->version, set->index, options->suid,
					    &export->image, err);
}

static int erofs_write(struct erofs_export *export, const char *path, bool force, struct error *err)
{
	struct outfile file = OUTFILE_NONE;
	int r = outfile_open(path, force, export->set.volume->array, &file, err);

	if (r == 0)
		r = erofs_image_write(export->image, file.fd, err);
	if (r == 0)
		r = outfile_commit(&file, err);
	outfile_close(&file);
	return r;
}

/* ---- output ---- */

static void erofs_json(const struct erofs_export *export, const char *file, bool is_written)
{
	struct erofs_image_sizes sizes = erofs_image_sizes(export->image);
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", export->set.volume->path);
	json_string(&json, "label", export->set.version->label);
	json_string(&json, "file", file);
	json_bool(&json, "written", is_written);
	json_number(&json, "bytes", sizes.bytes);
	json_number(&json, "inodes", sizes.inodes);
	json_number(&json, "copied_files", sizes.copied_files);
	json_number(&json, "copied_bytes", sizes.copied_bytes);
	json_bool(&json, "needs_48bit", sizes.needs_48bit);
	json_begin_array(&json, "devices");
	for (uint32_t i = 0; i < export->set.volume->array->count; i++)
		json_string(&json, NULL, export->set.volume->names[i]);
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

/* Prints text as one shell word, quoted if needed: a stranger may have chosen the names of the members. */
static void erofs_text_word(const char *word)
{
	size_t length = strspn(word, EROFS_PLAIN);

	if (*word && !word[length]) {
		text_print("%s", word);
		return;
	}
	putchar('\'');
	for (; *word; word += length) {
		length = strcspn(word, "'");
		if (length)
			text_print("%.*s", (int)length, word);
		for (; word[length] == '\''; length++)
			fputs("'\\''", stdout);
	}
	putchar('\'');
}

/* Prints the mount option for one device. A file becomes a device only by losetup(8). No option of mount(2) can contain
 * a comma, and mount(8) passes quotes on as they are; names that the kernel gives to devices have neither. */
static void erofs_text_device(const char *name)
{
	struct stat st;
	bool is_file = stat(name, &st) == 0 && S_ISREG(st.st_mode);
	const char *command = is_file ? "losetup -rf --show " : strchr(name, ',') ? "realpath " : NULL;

	text_print(",device=%s%s", command ? "$(" : "", command ? command : "");
	erofs_text_word(name);
	if (command)
		putchar(')');
}

static void erofs_text(const struct erofs_export *export, const char *file, bool is_written)
{
	struct erofs_image_sizes sizes = erofs_image_sizes(export->image);
	char bytes[SIZE_TEXT_SIZE], copied[SIZE_TEXT_SIZE];

	text_print("'%s': %s%s for %" PRIu64 " inodes, with %s of %" PRIu64 " files; %" PRIu64
		   " bytes each beside that\n",
		   file, is_written ? "" : "would have ", format_size(sizes.bytes, bytes), sizes.inodes,
		   format_size(sizes.copied_bytes, copied), sizes.copied_files,
		   (sizes.bytes - sizes.copied_bytes) / sizes.inodes);
	puts("the kernel verifies nothing that it reads of the volume; 'datasetfsctl verify' does");
	text_print("%smount -t erofs -o loop,ro,nosuid,nodev", is_written ? "" : "it would be mounted by: ");
	for (uint32_t i = 0; i < export->set.volume->array->count; i++)
		erofs_text_device(export->set.volume->names[i]);
	putchar(' ');
	erofs_text_word(file);
	puts(" MOUNTPOINT");
}

int export_erofs_run(int argc, char **argv)
{
	struct erofs_options options = { 0 };
	struct erofs_export export = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&export_erofs_line, argc, argv, &options, &operands, &status))
		return status;
	r = erofs_plan(argv[1], argv[2], &options, &export, &err);
	if (r == 0 && !options.dry_run)
		r = erofs_write(&export, argv[3], options.force, &err);
	if (r < 0)
		log_error(&err, "cannot export '%s' of '%s'", argv[2], argv[1]);
	else if (options.verb.json)
		erofs_json(&export, argv[3], !options.dry_run);
	else
		erofs_text(&export, argv[3], !options.dry_run);
	erofs_close(&export);
	return r < 0 ? VERB_FAILED : VERB_DONE;
}
