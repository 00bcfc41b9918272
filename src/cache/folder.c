/* SPDX-License-Identifier: MIT */
/* Looks at the folder by its descriptor, once it is open, so that it cannot be exchanged in between. */
#include "cache/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "base/transfer.h"
#include "io/site.h"

#define FOLDER_FLAGS  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FOLDER_NOTE   "format"
#define FOLDER_DRAFT  "format.new"
#define FOLDER_TEXT   "datasetfs cache %u\n"
#define FOLDER_LENGTH 64u /* of the text, at most */

/* Filesystems whose files other machines may change, or that are as slow as the volume, by their magic numbers of
 * statfs(2); <linux/magic.h> lacks some. */
static const struct folder_kind {
	uint32_t magic;
	const char *name;
} folder_network[] = {
	{ 0x00006969, "NFS" },    { 0xff534d42, "CIFS" },   { 0xfe534d42, "SMB" },    { 0x0000517b, "SMB" },
	{ 0x65735546, "FUSE" },   { 0x00c36400, "CephFS" }, { 0x0bd00bd0, "Lustre" }, { 0x01021997, "9P" },
	{ 0x47504653, "GPFS" },   { 0x19830326, "BeeGFS" }, { 0xaad7aaea, "PanFS" },  { 0x5346414f, "AFS" },
	{ 0x6b414653, "AFS" },    { 0x73757245, "Coda" },   { 0x01161970, "GFS2" },   { 0x7461636f, "OCFS2" },
	{ 0x20030528, "OrangeFS" },
};

/* ---- the checks ---- */

int folder_room(int fd, struct folder_room *ret, struct error *err)
{
	struct statvfs fs;
	uint64_t spare;

	if (fstatvfs(fd, &fs) < 0)
		return error_errno(err, "statvfs");
	*ret = (struct folder_room){ .size = (uint64_t)fs.f_blocks * fs.f_frsize,
				     .left = (uint64_t)fs.f_bavail * fs.f_frsize };
	spare = ret->size / FOLDER_SPARE;
	ret->takes = ret->left > spare ? ret->left - spare : 0;
	return 0;
}

static int folder_check_owner(int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	if (st.st_uid != geteuid())
		return error_set(err, -EPERM, "it belongs to user %u, expected user %u", (unsigned)st.st_uid,
				 (unsigned)geteuid());
	if (st.st_mode & 022)
		return error_set(err, -EPERM, "it has the mode %04o, so others may write it: chmod go-w",
				 (unsigned)st.st_mode & 07777);
	if ((st.st_mode & 0700) != 0700)
		return error_set(err, -EACCES, "it has the mode %04o, so its owner may not write it: chmod u+rwx",
				 (unsigned)st.st_mode & 07777);
	return 0;
}

static int folder_check_kind(int fd, struct error *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return error_errno(err, "statfs");
	for (size_t i = 0; i < sizeof(folder_network) / sizeof(*folder_network); i++)
		if ((uint32_t)fs.f_type == folder_network[i].magic)
			return error_set(err, -EINVAL, "it lies on %s, expected a filesystem of a local drive",
					 folder_network[i].name);
	return 0;
}

/* Only a whole note says a format: a torn one may have lost digits. */
static bool folder_parse_note(const char *text, unsigned *ret)
{
	char whole[FOLDER_LENGTH];

	if (sscanf(text, FOLDER_TEXT, ret) != 1)
		return false;
	snprintf(whole, sizeof(whole), FOLDER_TEXT, *ret);
	return !strcmp(text, whole);
}

static int folder_check_name(void *argument, int folder, const char *name, struct error *err)
{
	uint8_t uuid[16];

	(void)argument;
	(void)folder;
	if (!strcmp(name, FOLDER_NOTE) || !strcmp(name, FOLDER_DRAFT) || !strcmp(name, "lost+found") ||
	    parse_uuid(name, uuid, NULL) == 0)
		return 0;
	return error_set(err, -EINVAL, "its file '" FOLDER_NOTE "' was not written by datasetfs, nor was '%s': name a "
			 "folder that nothing else uses", name);
}

/* A folder without a note is new. Where nothing of others lies, a power loss or the drive has damaged the note. */
static int folder_check_format(int fd, enum folder_note *ret, struct error *err)
{
	char text[FOLDER_LENGTH] = "";
	auto_close int note = -1;
	struct error why = { 0 };
	unsigned format;
	int r = folder_open_file(fd, FOLDER_NOTE, O_RDONLY, &note, &why);

	*ret = FOLDER_UNNOTED;
	if (r < 0)
		return r == -ENOENT ? 0 : error_pass(err, r, &why);
	if (transfer_read(note, text, sizeof(text) - 1) < 0)
		return error_errno(err, "cannot read '" FOLDER_NOTE "'");
	*ret = FOLDER_DAMAGED;
	if (!folder_parse_note(text, &format))
		return folder_each(fd, folder_check_name, NULL, err);
	*ret = FOLDER_NOTED;
	if (format == FOLDER_FORMAT)
		return 0;
	return error_set(err, -EOPNOTSUPP, "it has the format %u, this release knows %u: name another folder, or empty "
			 "this one", format, FOLDER_FORMAT);
}

static int folder_open_fd(const char *path, int *ret, struct error *err)
{
	*ret = open(path, FOLDER_FLAGS);
	if (*ret >= 0)
		return 0;
	if (errno == ENOENT)
		return error_set(err, -ENOENT, "there is no such folder: 'install -d -m 700 %s' makes it", path);
	if (errno == ENOTDIR || errno == ELOOP)
		return error_set(err, -ENOTDIR, "it is not a folder, or it is a symbolic link");
	return error_errno(err, "cannot open it");
}

int folder_open(const char *path, int *ret, enum folder_note *ret_note, struct error *err)
{
	auto_close int fd = -1;
	int r = folder_open_fd(path, &fd, err);

	if (r == 0)
		r = folder_check_owner(fd, err);
	if (r == 0)
		r = folder_check_kind(fd, err);
	if (r == 0)
		r = folder_check_format(fd, ret_note, err);
	if (r < 0)
		return error_wrap(err, r, "cache '%s'", path);
	*ret = take_fd(&fd);
	return 0;
}

int folder_look(const char *path, int *ret, struct error *err)
{
	enum folder_note note = FOLDER_UNNOTED;
	auto_close int fd = -1;
	int r = folder_open_fd(path, &fd, err);

	if (r == 0)
		r = folder_check_format(fd, &note, err);
	if (r == 0 && note == FOLDER_UNNOTED) /* no mount has used it yet, or another one was meant */
		r = error_set(err, -ENOENT, "it is no folder of the mount option cache=, or none that a mount has "
			      "used: it has no file '" FOLDER_NOTE "'");
	if (r < 0)
		return error_wrap(err, r, "cache '%s'", path);
	*ret = take_fd(&fd);
	return 0;
}

/* ---- contents ---- */

int folder_enter(int folder, const char *name, int *ret, struct error *err)
{
	int fd = openat(folder, name, FOLDER_FLAGS);

	if (fd < 0)
		return error_errno(err, "cannot open the folder '%s'", name);
	*ret = fd;
	return 0;
}

int folder_make(int folder, const char *name, int *ret, struct error *err)
{
	if (mkdirat(folder, name, 0700) < 0 && errno != EEXIST)
		return error_errno(err, "cannot make the folder '%s'", name);
	return folder_enter(folder, name, ret, err);
}

int folder_volume(int folder, const uint8_t uuid[16], int *ret, struct error *err)
{
	char name[UUID_TEXT_SIZE];

	format_uuid(uuid, name);
	return folder_enter(folder, name, ret, err);
}

static int folder_write_note(int folder, struct error *err)
{
	char text[FOLDER_LENGTH];
	struct error why = { 0 };
	auto_close int fd = -1;
	int r = folder_lock(folder, FOLDER_DRAFT, &fd, &why);

	if (r == -EWOULDBLOCK)
		return 0; /* another process writes the same */
	if (r < 0)
		return error_pass(err, r, &why);
	snprintf(text, sizeof(text), FOLDER_TEXT, FOLDER_FORMAT);
	if (ftruncate(fd, 0) < 0 || transfer_write(fd, text, strlen(text)) < 0)
		return error_errno(err, "cannot write '" FOLDER_DRAFT "'");
	return folder_publish(folder, fd, FOLDER_DRAFT, FOLDER_NOTE, err);
}

static int folder_note(int folder, struct error *err)
{
	enum folder_note note = FOLDER_UNNOTED;
	int r = folder_check_format(folder, &note, err);

	return r < 0 || note == FOLDER_NOTED ? r : folder_write_note(folder, err);
}

int folder_make_volume(int folder, const uint8_t uuid[16], int *ret, struct error *err)
{
	char name[UUID_TEXT_SIZE];
	int r = folder_note(folder, err);

	format_uuid(uuid, name);
	return r < 0 ? r : folder_make(folder, name, ret, err);
}

int folder_open_file(int folder, const char *name, int flags, int *ret, struct error *err)
{
	auto_close int fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, "cannot open '%s'", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EBADMSG, "'%s' is no regular file: remove it", name);
	*ret = take_fd(&fd);
	return 0;
}

int folder_publish(int folder, int fd, const char *draft, const char *name, struct error *err)
{
	if (fdatasync(fd) < 0)
		return error_errno(err, "cannot flush '%s'", draft);
	if (renameat(folder, draft, folder, name) < 0)
		return error_errno(err, "cannot rename '%s' to '%s'", draft, name);
	return 0;
}

int folder_lock(int folder, const char *name, int *ret, struct error *err)
{
	auto_close int fd = -1;
	int r = folder_open_file(folder, name, O_RDWR | O_CREAT, &fd, err);

	if (r < 0)
		return r;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return error_errno(err, "cannot lock '%s'", name);
	if (!site_has(folder, name, fd)) /* who had it locked may have renamed it */
		return error_set(err, -EWOULDBLOCK, "another process had '%s' until now", name);
	*ret = take_fd(&fd);
	return 0;
}

static bool folder_is_self(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

int folder_each(int folder, int (*each)(void *argument, int folder, const char *name, struct error *err),
		void *argument, struct error *err)
{
	int fd = openat(folder, ".", FOLDER_FLAGS), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		r = error_errno(err, "cannot list a folder");
		close_fd(&fd);
		return r;
	}
	while (r == 0 && (entry = readdir(dir)))
		if (!folder_is_self(entry->d_name))
			r = each(argument, folder, entry->d_name, err);
	closedir(dir);
	return r;
}

struct folder_visit {
	int (*each)(void *argument, const uint8_t uuid[16], int volume, struct error *err);
	void *argument;
};

static int folder_visit(void *argument, int folder, const char *name, struct error *err)
{
	const struct folder_visit *visit = argument;
	auto_close int volume = -1;
	uint8_t uuid[16];

	if (parse_uuid(name, uuid, NULL) < 0 || folder_enter(folder, name, &volume, NULL) < 0)
		return 0;
	return visit->each(visit->argument, uuid, volume, err);
}

int folder_each_volume(int folder, int (*each)(void *argument, const uint8_t uuid[16], int volume, struct error *err),
		       void *argument, struct error *err)
{
	struct folder_visit visit = { each, argument };

	return folder_each(folder, folder_visit, &visit, err);
}

void folder_remove_volume(int folder, const uint8_t uuid[16])
{
	auto_close int volume = -1;
	char name[UUID_TEXT_SIZE];

	format_uuid(uuid, name);
	if (folder_enter(folder, name, &volume, NULL) < 0)
		return;
	unlinkat(volume, FOLDER_INDEX, AT_REMOVEDIR);
	unlinkat(volume, FOLDER_MOUNTS, AT_REMOVEDIR);
	unlinkat(folder, name, AT_REMOVEDIR);
}
