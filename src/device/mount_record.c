/* SPDX-License-Identifier: MIT */
/* Lines of a name and a value. A file gets its name when it is complete, so a process that is killed leaves none. */
#include "device/mount_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/text/parse.h"
#include "base/text/settings.h"
#include "device/nvme/sysfs.h"

#define MOUNT_RECORD_FIELD(FIELD, SHOWN)                                                       \
	{ #FIELD, offsetof(struct mount_record, FIELD),                                        \
	  _Generic(((struct mount_record *)0)->FIELD, char *: true, uint64_t: false), SHOWN }
static const struct mount_record_field {
	const char *name;
	size_t offset;
	bool is_text, is_shown;
} mount_record_fields[] = {
	MOUNT_RECORD_FIELD(options, false),    MOUNT_RECORD_FIELD(seen, false),    MOUNT_RECORD_FIELD(date, false),
	MOUNT_RECORD_FIELD(pointed, false),    MOUNT_RECORD_FIELD(replaces, false),   MOUNT_RECORD_FIELD(first, false),
	MOUNT_RECORD_FIELD(volume, true),      MOUNT_RECORD_FIELD(volume_uuid, true),
	MOUNT_RECORD_FIELD(label, true),       MOUNT_RECORD_FIELD(uuid, true),     MOUNT_RECORD_FIELD(digest, true),
	MOUNT_RECORD_FIELD(sequence, true),    MOUNT_RECORD_FIELD(since, true),    MOUNT_RECORD_FIELD(switches, true),
	MOUNT_RECORD_FIELD(members, true),     MOUNT_RECORD_FIELD(image, true),    MOUNT_RECORD_FIELD(disk, true),
	MOUNT_RECORD_FIELD(wanted, true),
};
static const char *const mount_record_prefixes[] = { "", "prepared-" };
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U
#endif
#define MOUNT_RECORD_NAME_SIZE 40u
#define MOUNT_RECORD_LOOP_SIZE (sizeof(SYSFS_BLOCKS) + SYSFS_NAME_SIZE)
#define MOUNT_RECORD_FIELDS (sizeof(mount_record_fields) / sizeof(*mount_record_fields))

static void *mount_record_at(const struct mount_record_field *field, const struct mount_record *record)
{
	return (char *)record + field->offset;
}

void mount_record_free(struct mount_record *record)
{
	for (size_t i = 0; i < MOUNT_RECORD_FIELDS; i++)
		if (mount_record_fields[i].is_text)
			free(*(char **)mount_record_at(&mount_record_fields[i], record));
	*record = (struct mount_record){ 0 };
}

int mount_record_id(int fd, const char *path, uint64_t *ret, struct error *err)
{
	int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | (*path ? 0 : AT_EMPTY_PATH);
	struct statx info;

	if (statx(fd, path, flags, STATX_MNT_ID_UNIQUE, &info) < 0)
		return error_errno(err, "cannot look at its mount");
	if (!(info.stx_mask & STATX_MNT_ID_UNIQUE))
		return error_set(err, -EOPNOTSUPP, "the kernel cannot tell a mount from a later one: that, and to "
				 "switch a mount that the kernel serves, needs Linux 6.8");
	*ret = info.stx_mnt_id;
	return 0;
}

int mount_record_folders(struct error *err)
{
	auto_close int folder = -1;
	int r = runtime_open(MOUNT_RECORD_NAME, &folder, err);

	return r < 0 ? r : runtime_make(AT_FDCWD, MOUNT_RECORD_SHOWN, 0755, err);
}

/* ---- the image ---- */

static void mount_record_loop(const char *loop, char ret[MOUNT_RECORD_LOOP_SIZE])
{
	snprintf(ret, MOUNT_RECORD_LOOP_SIZE, SYSFS_BLOCKS "%s", loop);
}

int mount_record_disk(const char *loop, uint64_t *ret, struct error *err)
{
	char folder[MOUNT_RECORD_LOOP_SIZE];
	int64_t disk;

	mount_record_loop(loop, folder);
	if (!sysfs_number(folder, "diskseq", &disk))
		return error_set(err, -EOPNOTSUPP, "the kernel does not number the disks in '%s': that needs Linux "
				 "5.15, and /sys", loop);
	*ret = (uint64_t)disk;
	return 0;
}

/* A loop device gets another number when it lets go of its file. */
bool mount_record_has_image(const struct mount_record *record)
{
	uint64_t disk = 0;

	return record->image && mount_record_disk(record->image, &disk, NULL) == 0 && disk == record->disk;
}

bool mount_record_lost_image(const struct mount_record *record)
{
	char folder[MOUNT_RECORD_LOOP_SIZE];
	uint64_t disk = 0;

	if (mount_record_disk(record->image, &disk, NULL) == 0)
		return disk != record->disk;
	mount_record_loop(record->image, folder);
	return access(folder, F_OK) < 0 && errno == ENOENT;
}

/* ---- a file ---- */

static void mount_record_name(enum mount_record_kind kind, uint64_t id, char ret[MOUNT_RECORD_NAME_SIZE])
{
	snprintf(ret, MOUNT_RECORD_NAME_SIZE, "%s%" PRIu64, mount_record_prefixes[kind], id);
}

static void mount_record_print(FILE *out, const struct mount_record *record, bool is_shown)
{
	for (const struct mount_record_field *f = mount_record_fields; f < mount_record_fields + MOUNT_RECORD_FIELDS;
	     f++) {
		const char *text = f->is_text ? *(char **)mount_record_at(f, record) : NULL;

		if ((is_shown && !f->is_shown) || (f->is_text && !text))
			continue;
		settings_write(out, f->name, ' ');
		if (text)
			settings_write(out, text, '\n');
		else
			fprintf(out, "%" PRIu64 "\n", *(uint64_t *)mount_record_at(f, record));
	}
}

static int mount_record_put(const char *folder, const char *name, const struct mount_record *record, bool is_shown,
			    struct error *err)
{
	int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	auto_fclose FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	char open_file[FDNAME_LINK_SIZE], path[PATH_MAX], complete[PATH_MAX];

	if (!out) {
		close_fd(&fd);
		return error_errno(err, "cannot make a file in '%s'", folder);
	}
	mount_record_print(out, record, is_shown);
	if (fflush(out) != 0 || ferror(out) || (is_shown && fchmod(fd, 0644) < 0))
		return error_errno(err, "cannot write in '%s'", folder);
	fdname_link(fd, open_file);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(complete, sizeof(complete), "%s/.%s", folder, name);
	unlink(complete); /* of a process that was killed */
	if (linkat(AT_FDCWD, open_file, AT_FDCWD, complete, AT_SYMLINK_FOLLOW) < 0 || rename(complete, path) < 0)
		return error_errno(err, "cannot make '%s'", path);
	return 0;
}

int mount_record_write(enum mount_record_kind kind, uint64_t id, const struct mount_record *record, struct error *err)
{
	char name[MOUNT_RECORD_NAME_SIZE];
	int r;

	mount_record_name(kind, id, name);
	r = mount_record_put(MOUNT_RECORD_FOLDER, name, record, false, err);
	return r < 0 || kind != MOUNT_RECORD_OWN ? r : mount_record_put(MOUNT_RECORD_SHOWN, name, record, true, err);
}

/* Passes over fields of other releases. */
static int mount_record_line(void *argument, char *words[], size_t count, struct error *err)
{
	for (const struct mount_record_field *f = mount_record_fields; f < mount_record_fields + MOUNT_RECORD_FIELDS;
	     f++) {
		void *field = mount_record_at(f, argument);

		if (strcmp(words[0], f->name) != 0)
			continue;
		if (count != 2)
			return error_set(err, -EINVAL, "'%s' has %zu values, expected one", words[0], count - 1);
		if (!f->is_text)
			return parse_u64(words[1], 0, UINT64_MAX, field, err);
		free(*(char **)field);
		*(char **)field = strdup(words[1]);
		return *(char **)field ? 0 : error_no_memory(err);
	}
	return 0;
}

static int mount_record_read_at(const char *folder, const char *name, struct mount_record *ret, struct error *err)
{
	auto_mount_record struct mount_record record = { 0 };
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	r = settings_read(path, mount_record_line, &record, err);
	if (r == 0 && (!record.volume || !record.label || !record.image))
		r = error_set(err, -EINVAL, "'%s' is not complete", path);
	if (r < 0)
		return r;
	*ret = record;
	record = (struct mount_record){ 0 };
	return 0;
}

int mount_record_read(enum mount_record_kind kind, uint64_t id, struct mount_record *ret, struct error *err)
{
	char name[MOUNT_RECORD_NAME_SIZE];
	int r;

	mount_record_name(kind, id, name);
	r = mount_record_read_at(MOUNT_RECORD_FOLDER, name, ret, err);
	if (r < 0 || ret->options)
		return r;
	mount_record_free(ret);
	return error_set(err, -EINVAL, "'" MOUNT_RECORD_FOLDER "/%s' has no options", name);
}

int mount_record_read_shown(uint64_t id, struct mount_record *ret, struct error *err)
{
	char name[MOUNT_RECORD_NAME_SIZE];

	mount_record_name(MOUNT_RECORD_OWN, id, name);
	return mount_record_read_at(MOUNT_RECORD_SHOWN, name, ret, err);
}

void mount_record_remove(enum mount_record_kind kind, uint64_t id)
{
	char name[MOUNT_RECORD_NAME_SIZE], path[sizeof(MOUNT_RECORD_FOLDER) + sizeof(MOUNT_RECORD_SHOWN) +
						sizeof(name)];

	mount_record_name(kind, id, name);
	snprintf(path, sizeof(path), MOUNT_RECORD_SHOWN "/%s", name);
	if (kind == MOUNT_RECORD_OWN)
		unlink(path);
	snprintf(path, sizeof(path), MOUNT_RECORD_FOLDER "/%s", name);
	unlink(path);
}

/* ---- all of them ---- */

struct mount_record_visitor {
	mount_record_visit visit;
	void *argument;
};

static int mount_record_visit_one(void *argument, const char *name, struct error *err)
{
	const char *prepared = mount_record_prefixes[MOUNT_RECORD_PREPARED];
	enum mount_record_kind kind = strncmp(name, prepared, strlen(prepared)) ? MOUNT_RECORD_OWN :
										  MOUNT_RECORD_PREPARED;
	const struct mount_record_visitor *visitor = argument;
	auto_mount_record struct mount_record record = { 0 };
	uint64_t id;

	if (parse_u64(name + strlen(mount_record_prefixes[kind]), 0, UINT64_MAX, &id, err) < 0 ||
	    mount_record_read(kind, id, &record, err) < 0)
		return 0;
	return visitor->visit(visitor->argument, kind, id, &record);
}

int mount_record_each(mount_record_visit visit, void *argument)
{
	auto_close int folder = open(MOUNT_RECORD_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct mount_record_visitor visitor = { visit, argument };

	return folder < 0 ? 0 : runtime_each(folder, mount_record_visit_one, &visitor, NULL);
}
