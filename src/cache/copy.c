/* SPDX-License-Identifier: MIT */
/* Writes past the page cache to a new file, locked while it is written, that takes the name of the copy at the end. */
#include "cache/copy.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/direct.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "base/transfer.h"
#include "cache/folder.h"
#include "io/file.h"

#define COPY_DRAFT  ".new"
#define COPY_MAGIC  "DSFSCOPY"
#define COPY_STEP   (UINT64_C(4) << 20) /* bytes written at a time */
#define COPY_HEX    64u                 /* characters of a sum */
#define COPY_NAME   (COPY_HEX + sizeof(COPY_DRAFT))

struct copy_head {
	uint8_t magic[8];
	dsfs_le32 format; /* COPY_FORMAT */
	dsfs_le32 kind;
	dsfs_le64 length, sequence;
	uint8_t sha256[32];
	uint8_t version[16];
	uint8_t label[DSFS_LABEL_MAX + 1]; /* NUL-padded */
};
static_assert(sizeof(struct copy_head) == 8 + 8 + 16 + 32 + 16 + 128, "no gaps");

/* ---- the head ---- */

struct copy copy_of(const struct version *version, enum copy_kind kind)
{
	const struct version_section *section = kind == COPY_INDEX ? &version->index : &version->block_sums;
	struct copy copy = { .kind = kind, .length = kind == COPY_INDEX ? section->length : 0,
			     .sequence = version->sequence };

	memcpy(copy.sha256, section->sha256, sizeof(copy.sha256));
	memcpy(copy.version, version->uuid, sizeof(copy.version));
	memcpy(copy.label, version->label, sizeof(copy.label));
	return copy;
}

void copy_encode(const struct copy *copy, uint8_t head[COPY_AT])
{
	struct copy_head disk = { .format = dsfs_le32_of(COPY_FORMAT), .kind = dsfs_le32_of(copy->kind),
				  .length = dsfs_le64_of(copy->length), .sequence = dsfs_le64_of(copy->sequence) };

	memcpy(disk.magic, COPY_MAGIC, sizeof(disk.magic));
	memcpy(disk.sha256, copy->sha256, sizeof(disk.sha256));
	memcpy(disk.version, copy->version, sizeof(disk.version));
	memcpy(disk.label, copy->label, strlen(copy->label));
	memset(head, 0, COPY_AT);
	memcpy(head, &disk, sizeof(disk));
}

int copy_decode(struct span head, struct copy *ret, struct error *err)
{
	const struct copy_head *disk = span_at(head, 0, sizeof(*disk));
	struct copy copy = { .length = 0 };

	if (!disk || memcmp(disk->magic, COPY_MAGIC, sizeof(disk->magic)) != 0)
		return error_set(err, -EBADMSG, "it does not begin as a copy");
	if (dsfs_le32_get(disk->format) != COPY_FORMAT)
		return error_set(err, -EOPNOTSUPP, "it has the format %" PRIu32 ", this release knows %u",
				 dsfs_le32_get(disk->format), COPY_FORMAT);
	copy.kind = dsfs_le32_get(disk->kind) ? COPY_BLOCK_SUMS : COPY_INDEX;
	copy.length = dsfs_le64_get(disk->length);
	copy.sequence = dsfs_le64_get(disk->sequence);
	memcpy(copy.sha256, disk->sha256, sizeof(copy.sha256));
	memcpy(copy.version, disk->version, sizeof(copy.version));
	memcpy(copy.label, disk->label, DSFS_LABEL_MAX);
	if (dsfs_le32_get(disk->kind) > COPY_BLOCK_SUMS || !copy.length || copy.length % DSFS_BLOCK ||
	    version_check_label(copy.label, NULL) < 0)
		return error_set(err, -EBADMSG, "its head is damaged: %" PRIu64 " bytes", copy.length);
	*ret = copy;
	return 0;
}

/* ---- reading ---- */

static void copy_name(const struct copy *copy, char ret[COPY_NAME])
{
	format_hex(copy->sha256, sizeof(copy->sha256), ret);
}

static void copy_draft(const struct copy *copy, char ret[COPY_NAME])
{
	copy_name(copy, ret);
	strcat(ret, COPY_DRAFT);
}

static int copy_check(const struct copy *expected, const struct copy *found, uint64_t size, struct error *err)
{
	if (memcmp(found->sha256, expected->sha256, sizeof(found->sha256)) != 0)
		return error_set(err, -EBADMSG, "it is that of another index");
	if ((expected->length && found->length != expected->length) || size != COPY_AT + found->length)
		return error_set(err, -EBADMSG, "a file of %" PRIu64 " bytes, expected %" PRIu64, size,
				 COPY_AT + (expected->length ? expected->length : found->length));
	return 0;
}

static int copy_read_head(struct file_source *file, struct copy *ret, struct error *err)
{
	uint8_t head[sizeof(struct copy_head)];
	int r = source_read(&file->source, 0, 0, head, sizeof(head), err);

	return r < 0 ? r : copy_decode(span_of(head, sizeof(head)), ret, err);
}

static int copy_open_file(int folder, const char *name, struct file_source **ret, struct error *err)
{
	auto_close int fd = -1;
	int r = folder_open_file(folder, name, O_RDONLY, &fd, err);

	if (r < 0)
		return r;
	(void)!fcntl(fd, F_SETFL, O_DIRECT); /* else through the page cache */
	r = file_adopt(fd, ret, err);
	if (r < 0)
		return r;
	(void)take_fd(&fd);
	(*ret)->patience = FILE_PATIENCE;
	return 0;
}

int copy_open(int volume, const struct copy *copy, struct file_source **ret, struct error *err)
{
	struct file_source *file = NULL;
	auto_close int folder = -1;
	char name[COPY_NAME];
	struct copy found;
	int r = folder_enter(volume, FOLDER_INDEX, &folder, err);

	copy_name(copy, name);
	if (r == 0)
		r = copy_open_file(folder, name, &file, err);
	if (r < 0)
		return r;
	r = copy_read_head(file, &found, err);
	if (r == 0)
		r = copy_check(copy, &found, source_size(&file->source, 0), err);
	if (r < 0) {
		file_close(file);
		return r;
	}
	*ret = file;
	return 0;
}

bool copy_exists(int volume, const struct copy *copy)
{
	struct file_source *file;

	if (copy_open(volume, copy, &file, NULL) < 0)
		return false;
	file_close(file);
	return true;
}

/* ---- writing ---- */

static int copy_check_room(int fd, uint64_t size, struct error *err)
{
	char needed[SIZE_TEXT_SIZE], left[SIZE_TEXT_SIZE];
	struct folder_room room = { 0 };
	int r = folder_room(fd, &room, err);

	if (r < 0 || size <= room.takes)
		return r;
	return error_set(err, -ENOSPC, "it needs %s, %s are free, and a tenth of the filesystem stays free",
			 format_size(size, needed), format_size(room.left, left));
}

/* Takes the room first, so that a filesystem that has not enough is found out before anything is written. */
static int copy_reserve(int fd, uint64_t size, struct error *err)
{
	if (ftruncate(fd, 0) < 0)
		return error_errno(err, "cannot empty its leftovers");
	if (fallocate(fd, 0, 0, (off_t)size) < 0 && errno != EOPNOTSUPP && errno != ENOSYS)
		return error_errno(err, "cannot take room for it");
	(void)!fcntl(fd, F_SETFL, O_DIRECT); /* else through the page cache */
	return 0;
}

static int copy_fill(int fd, const struct copy *copy, const uint8_t *bytes, const _Atomic bool *ended,
		     struct error *err)
{
	auto_free uint8_t *head = aligned_alloc(DIRECT_ALIGN, COPY_AT);
	uint64_t part;

	if (!head)
		return error_no_memory(err);
	copy_encode(copy, head);
	if (transfer_write_at(fd, head, COPY_AT, 0) < 0)
		return error_errno(err, "cannot write it");
	for (uint64_t at = 0; at < copy->length; at += part) {
		part = copy->length - at < COPY_STEP ? copy->length - at : COPY_STEP;
		if (atomic_load(ended))
			return error_set(err, -ECANCELED, "the mount ends");
		if (transfer_write_at(fd, bytes + at, part, COPY_AT + at) < 0)
			return error_errno(err, "cannot write it");
	}
	return 0;
}

static int copy_write_in(int folder, const struct copy *copy, const void *bytes, const _Atomic bool *ended,
			 struct error *err)
{
	char draft[COPY_NAME], name[COPY_NAME];
	auto_close int fd = -1;
	int r;

	copy_name(copy, name);
	copy_draft(copy, draft);
	r = folder_lock(folder, draft, &fd, err);
	if (r < 0)
		return r;
	r = copy_check_room(fd, COPY_AT + copy->length, err);
	if (r == 0)
		r = copy_reserve(fd, COPY_AT + copy->length, err);
	if (r == 0)
		r = copy_fill(fd, copy, bytes, ended, err);
	if (r == 0)
		r = folder_publish(folder, fd, draft, name, err);
	if (r < 0)
		unlinkat(folder, draft, 0);
	return r;
}

int copy_write(int volume, const struct copy *copy, const void *bytes, const _Atomic bool *ended, struct error *err)
{
	auto_close int folder = -1;
	int r = folder_make(volume, FOLDER_INDEX, &folder, err);

	return r < 0 ? r : copy_write_in(folder, copy, bytes, ended, err);
}

/* ---- all copies ---- */

void copy_remove(int volume, const struct copy *copy)
{
	auto_close int folder = -1;
	char name[COPY_NAME];

	copy_name(copy, name);
	if (folder_enter(volume, FOLDER_INDEX, &folder, NULL) == 0)
		unlinkat(folder, name, 0);
}

/* False: it is no name that we give. */
static bool copy_parse(const char *name, uint8_t sha256[32], bool *ret_draft)
{
	char hex[COPY_HEX + 1] = "";

	snprintf(hex, sizeof(hex), "%s", name);
	if (strlen(hex) != COPY_HEX || parse_hex(hex, sha256, 32, NULL) < 0)
		return false;
	*ret_draft = name[COPY_HEX];
	return !*ret_draft || !strcmp(name + COPY_HEX, COPY_DRAFT);
}

/* Calls each for all names in the folder of indexes, if there is one. */
static int copy_each_name(int volume, int (*each)(void *argument, int folder, const char *name, struct error *err),
			  void *argument, struct error *err)
{
	auto_close int folder = -1;
	struct error why = { 0 };
	int r = folder_enter(volume, FOLDER_INDEX, &folder, &why);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? error_pass(err, r, &why) : folder_each(folder, each, argument, err);
}

struct copy_visit {
	int (*each)(void *argument, const struct copy_file *file, struct error *err);
	void *argument;
};

static int copy_visit(void *argument, int folder, const char *name, struct error *err)
{
	const struct copy_visit *visit = argument;
	struct copy_file found = { .bytes = 0 };
	struct file_source *file = NULL;
	uint8_t sha256[32];
	struct stat st;
	bool is_draft;

	if (!copy_parse(name, sha256, &is_draft) || is_draft || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (copy_open_file(folder, name, &file, NULL) == 0 && copy_read_head(file, &found.copy, NULL) < 0)
		found.copy.length = 0;
	file_close(file);
	memcpy(found.copy.sha256, sha256, sizeof(sha256));
	found.bytes = (uint64_t)st.st_size;
	found.written = st.st_mtime;
	return visit->each(visit->argument, &found, err);
}

int copy_each(int volume, int (*each)(void *argument, const struct copy_file *file, struct error *err), void *argument,
	      struct error *err)
{
	struct copy_visit visit = { each, argument };

	return copy_each_name(volume, copy_visit, &visit, err);
}

struct copy_kept {
	const uint8_t (*sums)[32];
	uint32_t count;
};

static bool copy_is_kept(const struct copy_kept *kept, const uint8_t sha256[32])
{
	for (uint32_t i = 0; i < kept->count; i++)
		if (!memcmp(kept->sums[i], sha256, 32))
			return true;
	return false;
}

/* Leaves alone files with foreign names, and files that a process is writing. */
static int copy_prune_one(void *argument, int folder, const char *name, struct error *err)
{
	auto_close int fd = -1;
	uint8_t sha256[32];
	bool is_draft;

	if (!copy_parse(name, sha256, &is_draft) || copy_is_kept(argument, sha256))
		return 0;
	if (is_draft && folder_lock(folder, name, &fd, NULL) < 0)
		return 0;
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return error_errno(err, "cannot remove '%s'", name);
	return 0;
}

int copy_prune(int volume, const uint8_t (*kept)[32], uint32_t count, struct error *err)
{
	struct copy_kept all = { kept, count };

	return copy_each_name(volume, copy_prune_one, &all, err);
}
