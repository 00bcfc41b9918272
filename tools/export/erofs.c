/* SPDX-License-Identifier: MIT */
/* datasetfsctl export erofs: writes a file by which the kernel itself mounts a version. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/json.h"
#include "base/log.h"
#include "erofs/erofs_image.h"
#include "export/export.h"
#include "image/index_load.h"
#include "io/site.h"
#include "text.h"
#include "volume.h"

struct erofs_options {
	struct verb_options verb;
	bool force, dry_run, suid;
};

static const struct option_spec erofs_table[] = {
	{ "dry-run", 0, NULL, OPTION_TRUE(struct erofs_options, dry_run), "say how large FILE would be" },
	{ "force", 0, NULL, OPTION_TRUE(struct erofs_options, force), "replace FILE if it is there" },
	{ "suid", 0, NULL, OPTION_TRUE(struct erofs_options, suid), "keep set-uid and set-gid bits" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line export_erofs_line = {
	.program = "datasetfsctl export erofs",
	.usage = "VOLUME|MNT LABEL FILE",
	.summary = "Write a version as metadata of an EROFS.\n"
		   "The content stays on the volume: the kernel mounts FILE with the volume as a further device.",
	.options = erofs_table,
};

/* A version, laid out. */
struct erofs_export {
	struct volume *volume;
	const struct version *version;
	struct index *index;
	struct erofs_image *image;
};

static void erofs_close(struct erofs_export *export)
{
	erofs_image_free(export->image);
	if (export->index)
		index_close(export->index);
	volume_close(export->volume);
}

static int erofs_plan(const char *name, const char *label, bool suid, struct erofs_export *export, struct error *err)
{
	struct source *source;
	int r = volume_open_loaded(name, &export->volume, err);

	if (r == 0)
		r = volume_version(export->volume, label, &export->version, err);
	if (r < 0)
		return r;
	source = &export->volume->array->source;
	r = index_load(source, export->version, &export->volume->catalogue.members, &export->index, err);
	return r < 0 ? r : erofs_image_plan(source, export->version, export->index, suid, &export->image, err);
}

/* ---- the file ---- */

/* Without a name where the filesystem can do that: whoever ends us leaves nothing. */
static int erofs_create(const struct site *beside, bool *ret_is_named, int *ret_fd, struct error *err)
{
	*ret_is_named = site_create_unnamed(beside, ret_fd, NULL) < 0;
	return *ret_is_named ? site_create(beside, ret_fd, err) : 0;
}

/* Under a name of its own first, so that nobody ever finds half of it. */
static int erofs_write_beside(struct erofs_export *export, const struct site *to, struct error *err)
{
	struct site beside = SITE_NONE;
	auto_close int fd = -1;
	bool is_named = false;
	char suffix[32];
	int r;

	snprintf(suffix, sizeof(suffix), ".new.%d", (int)getpid());
	r = site_beside(to, suffix, &beside, err);
	if (r == 0)
		r = erofs_create(&beside, &is_named, &fd, err);
	if (r == 0)
		r = erofs_image_write(export->image, fd, err);
	if (r == 0 && fsync(fd) < 0)
		r = error_errno(err, "cannot write '%s'", to->path);
	if (r == 0 && !is_named)
		r = site_link(&beside, fd, err);
	if (r == 0)
		r = site_replace(&beside, fd, to, to->file, err);
	if (r < 0 && fd >= 0)
		site_remove(&beside, fd);
	if (r == 0)
		r = site_sync(to, err);
	site_close(&beside);
	return r;
}

static int erofs_check_former(const struct erofs_export *export, const struct site *site, struct error *err)
{
	const struct array_source *array = export->volume->array;
	struct stat st, member;

	if (fstat(site->file, &st) < 0)
		return error_errno(err, "stat '%s'", site->path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "'%s' is not a regular file", site->path);
	for (uint32_t i = 0; i < array->count; i++)
		if (array->fds[i] >= 0 && fstat(array->fds[i], &member) == 0 && member.st_dev == st.st_dev &&
		    member.st_ino == st.st_ino)
			return error_set(err, -EINVAL, "'%s' is the volume itself", site->path);
	return 0;
}

/* What FILE leads to, if anything, and where it is. */
static int erofs_find_file(const struct erofs_export *export, const char *path, bool force, struct site *ret,
			   struct error *err)
{
	struct error why = { 0 };
	int r = site_find(path, ret, &why);

	if (r == -ENOENT)
		return site_plan(path, ret, err);
	if (r < 0)
		return error_pass(err, r, &why);
	r = erofs_check_former(export, ret, err);
	if (r == 0 && !force)
		r = error_set(err, -EEXIST, "'%s' is there already: --force replaces it", path);
	return r < 0 ? r : site_name(ret, ret->file, err);
}

static int erofs_write(struct erofs_export *export, const char *path, bool force, struct error *err)
{
	struct site to = SITE_NONE;
	int r = erofs_find_file(export, path, force, &to, err);

	if (r == 0)
		r = erofs_write_beside(export, &to, err);
	site_close(&to);
	return r;
}

/* ---- what is said ---- */

static void erofs_json(const struct erofs_export *export, const char *file, bool is_written)
{
	struct erofs_image_sizes sizes = erofs_image_sizes(export->image);
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", export->volume->path);
	json_string(&json, "label", export->version->label);
	json_string(&json, "file", file);
	json_bool(&json, "written", is_written);
	json_number(&json, "bytes", sizes.bytes);
	json_number(&json, "inodes", sizes.inodes);
	json_number(&json, "copied_files", sizes.copied_files);
	json_number(&json, "copied_bytes", sizes.copied_bytes);
	json_bool(&json, "needs_48bit", sizes.needs_48bit);
	json_begin_array(&json, "devices");
	for (uint32_t i = 0; i < export->volume->array->count; i++)
		json_string(&json, NULL, export->volume->names[i]);
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

/* A file becomes a device only by losetup(8). */
static void erofs_text_device(const char *name)
{
	struct stat st;
	bool is_file = stat(name, &st) == 0 && S_ISREG(st.st_mode);

	text_print(is_file ? ",device=$(losetup -rf --show %s)" : ",device=%s", name);
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
	text_print("mount -t erofs -o loop,ro,nosuid,nodev");
	for (uint32_t i = 0; i < export->volume->array->count; i++)
		erofs_text_device(export->volume->names[i]);
	text_print(" %s MOUNTPOINT\n", file);
}

int export_erofs_run(int argc, char **argv)
{
	struct erofs_options options = { 0 };
	struct erofs_export export = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&export_erofs_line, argc, argv, &options, 3, 3, &operands, &status))
		return status;
	r = erofs_plan(argv[1], argv[2], options.suid, &export, &err);
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
