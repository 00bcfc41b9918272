/* SPDX-License-Identifier: MIT */
/* Climbs from a path to the directory that has .datasetfs, and reads the files there. */
#include "lib/mounted/mounted_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/json_read.h"
#include "base/text/parse.h"
#include "base/transfer.h"
#include "datasetfs/control.h"
#include "datasetfs/format.h"
#include "image/catalogue/version.h"
#include "lib/beneath.h"

#define PLACE_FUSE 0x65735546     /* FUSE_SUPER_MAGIC */
#define PLACE_TEXT ((size_t)4 << 20) /* limit of a file of .datasetfs; that of DSFS_VERSIONS_MAX versions is smaller */
#define PLACE_UUID 37             /* characters, with the NUL */

/* --- finding the mount --- */

static bool mounted_place_is(int directory)
{
	struct error ignored;
	int fd = beneath_open(directory, DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_VERSION, O_PATH, false, &ignored);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Cuts a path from realpath(3) to its parent; false: it has none. */
static bool mounted_place_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == path] = 0;
	return true;
}

static int mounted_place_climb(char *path, dev_t device, int *ret)
{
	struct stat st;

	do {
		auto_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 && errno != ENOTDIR)
			return -errno;
		if (fd < 0)
			continue;
		if (fstat(fd, &st) < 0 || st.st_dev != device)
			return -ENOTTY;
		if (mounted_place_is(fd)) {
			*ret = take_fd(&fd);
			return 0;
		}
	} while (mounted_place_up(path));
	return -ENOTTY;
}

static int mounted_place_failed(const char *where, int r, struct error *err)
{
	if (r == -ENOTCONN || r == -ECONNABORTED)
		return error_set(err, -ENOTCONN,
				 "the daemon of the mount '%s' has ended: unmount it and mount it again",
				 where);
	return error_set(err, r, "'%s': %s", where, strerror(-r));
}

int mounted_place_open(const char *where, int *ret, struct error *err)
{
	auto_free char *path = realpath(where, NULL);
	struct statfs fs;
	struct stat st;
	int r;

	/* stat(2) of a mount whose daemon has ended may be answered from a cache; statfs(2) never is. */
	if (!path || stat(path, &st) < 0 || statfs(path, &fs) < 0)
		return mounted_place_failed(where, -errno, err);
	r = fs.f_type == PLACE_FUSE ? mounted_place_climb(path, st.st_dev, ret) : -ENOTTY;
	if (r == -ENOTTY)
		return error_set(err, r, "'%s' lies in no mount of a datasetfs volume, or only a part of the mount is "
				 "there", where);
	return r < 0 ? mounted_place_failed(where, r, err) : 0;
}

/* --- reading its files --- */

static int mounted_place_read(int fd, const char *name, char **ret, size_t *ret_length, struct error *err)
{
	auto_free char *text = malloc(PLACE_TEXT);
	ssize_t n;

	if (!text)
		return error_no_memory(err);
	n = transfer_read(fd, text, PLACE_TEXT);
	if (n < 0)
		return error_errno(err, "cannot read '%s'", name);
	if ((size_t)n == PLACE_TEXT)
		return error_set(err, -EFBIG, "'%s' has at least %zu bytes", name, PLACE_TEXT);
	*ret = take_ptr(&text);
	*ret_length = (size_t)n;
	return 0;
}

static int mounted_place_load(int mount, const char *name, char **ret, size_t *ret_length, struct error *err)
{
	auto_close int fd = beneath_open(mount, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, false, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EBADMSG, "'%s' is not a regular file", name);
	return mounted_place_read(fd, name, ret, ret_length, err);
}

static int mounted_place_check(const struct dsfs_info *info, const char *uuid, struct error *err)
{
	uint8_t digest[32];
	int r = version_check_label(info->label, err);

	if (r == 0 && (strlen(uuid) != PLACE_UUID - 1 || strncmp(info->digest, "sha256:", 7) != 0))
		r = error_set(err, -EINVAL, "uuid '%s', digest '%s'", uuid, info->digest);
	if (r == 0)
		r = parse_hex(info->digest + 7, digest, sizeof(digest), err);
	if (r == 0 && (info->sequence < 1 || info->sequence > DSFS_SEQUENCE_MAX))
		r = error_set(err, -EINVAL, "sequence %" PRIu64, info->sequence);
	if (r == 0 && (!info->ids || info->ids >> DSFS_ORDINAL_BITS))
		r = error_set(err, -EINVAL, "%" PRIu64 " inodes", info->ids);
	return r < 0 ? -EBADMSG : 0;
}

/* Parses and checks one version. is_current: NULL for the version that the mount serves, which lacks that field. */
static int mounted_place_parse(struct json_read *read, bool *is_current, struct dsfs_info *ret, struct error *err)
{
	struct dsfs_info info = { .size = sizeof(info) };
	char uuid[PLACE_UUID];
	const struct json_wanted wanted[] = {
		{ .key = DSFS_CONTROL_LABEL, .text = info.label, .room = sizeof(info.label) },
		{ .key = DSFS_CONTROL_UUID, .text = uuid, .room = sizeof(uuid) },
		{ .key = DSFS_CONTROL_DIGEST, .text = info.digest, .room = sizeof(info.digest) },
		{ .key = DSFS_CONTROL_SEQUENCE, .number = &info.sequence },
		{ .key = DSFS_CONTROL_FILES, .number = &info.files },
		{ .key = DSFS_CONTROL_BYTES, .number = &info.bytes },
		{ .key = DSFS_CONTROL_INODES, .number = &info.ids },
		{ .key = DSFS_CONTROL_IS_CURRENT, .flag = is_current },
	};
	int r = json_read_object(read, wanted, is_current ? 8 : 7, err);

	if (r == 0)
		r = mounted_place_check(&info, uuid, err);
	if (r == 0 && parse_uuid(uuid, info.uuid, err) < 0)
		r = -EBADMSG;
	if (r == 0)
		*ret = info;
	return r;
}

int mounted_place_version(int mount, struct dsfs_info *ret, struct error *err)
{
	static const char name[] = DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_VERSION;
	auto_free char *text = NULL;
	struct dsfs_info info;
	struct json_read read;
	size_t length = 0;
	int r = mounted_place_load(mount, name, &text, &length, err);

	if (r < 0)
		return r;
	read = json_read_begin(text, length);
	r = mounted_place_parse(&read, NULL, &info, err);
	if (r < 0)
		return error_wrap(err, r, "'%s' of the mount", name);
	*ret = info;
	return 0;
}

static int mounted_place_each(struct json_read *read, int (*each)(void *argument, const struct dsfs_info *version,
								  bool is_current),
			      void *argument, struct error *err)
{
	struct dsfs_info info;
	bool is_current;
	int r;

	if (!json_read_take(read, '['))
		return error_set(err, -EBADMSG, "no JSON array");
	if (json_read_take(read, ']'))
		return 0;
	do {
		r = mounted_place_parse(read, &is_current, &info, err);
		if (r == 0)
			r = each(argument, &info, is_current);
	} while (r == 0 && json_read_take(read, ','));
	if (r == 0 && !json_read_take(read, ']'))
		r = error_set(err, -EBADMSG, "the JSON array does not end");
	return r;
}

int mounted_place_versions(int mount, int (*each)(void *argument, const struct dsfs_info *version, bool is_current),
			   void *argument, struct error *err)
{
	static const char name[] = DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_CATALOGUE;
	auto_free char *text = NULL;
	struct json_read read;
	size_t length = 0;
	int r = mounted_place_load(mount, name, &text, &length, err);

	if (r < 0)
		return r;
	read = json_read_begin(text, length);
	err->code = 0;
	r = mounted_place_each(&read, each, argument, err);
	return r == -EBADMSG && err->code ? error_wrap(err, r, "'%s' of the mount", name) : r;
}
