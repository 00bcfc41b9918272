/* SPDX-License-Identifier: MIT */
/* Opens files again through /proc/self/fd, so that no path is walked twice. */
#include "io/site.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/same.h"

/* --- finding --- */

bool site_is_same(const struct stat *a, const struct stat *b)
{
	if (S_ISBLK(a->st_mode) || S_ISBLK(b->st_mode))
		return S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode) && a->st_rdev == b->st_rdev;
	return same_file(a, b);
}

/* Names the directory that stops the path walk in err; returns 0 if there is none. */
static int site_refuse_folder(const char *path, struct error *err)
{
	char folder[PATH_MAX];
	struct stat st;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", slash > path ? (int)(slash - path) : 1, path);
		if (stat(folder, &st) < 0 && errno == ENOENT)
			return error_set(err, -ENOENT, "there is no directory '%s'", folder);
		if (stat(folder, &st) < 0)
			return error_errno(err, "'%s'", folder);
		if (!S_ISDIR(st.st_mode))
			return error_set(err, -ENOTDIR, "'%s' is not a directory", folder);
		if (faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) < 0 && errno == EACCES)
			return error_set(err, -EACCES,
					 "user %u may not search the directory '%s': it is user %u's and has mode %04o",
					 (unsigned)geteuid(), folder, (unsigned)st.st_uid, st.st_mode & 07777);
	}
	return 0;
}

/* Returns the shift of the permission bits that apply to this process. */
static unsigned site_class(const struct stat *st)
{
	if (st->st_uid == geteuid())
		return 6;
	return st->st_gid == getegid() || group_member(st->st_gid) ? 3 : 0;
}

/* Explains why an open with these flags was refused. No chmod is proposed: the file need not be a volume, and may be
 * /etc/shadow. */
static int site_refuse_mode(const struct site *site, int flags, struct error *err)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	unsigned user = geteuid(), mode, wanted = writes ? 6 : 4;
	struct stat st;

	if (fstat(site->file, &st) < 0)
		return error_errno(err, "fstat");
	mode = st.st_mode & 07777;
	if ((mode >> site_class(&st) & wanted) == wanted)
		return error_set(err, -EACCES, "user %u may not open it, although it has mode %04o: an access control "
				 "list or a security module is in the way", user, mode);
	return error_set(err, -EACCES, "user %u may not %s it: it is user %u's and has mode %04o; if it is a volume, "
			 "its owner can let others", user, writes ? "change" : "read", (unsigned)st.st_uid, mode);
}

int site_refuse(const char *path, int code, struct error *err)
{
	int r = code == ENOENT || code == ENOTDIR || code == EACCES ? site_refuse_folder(path, err) : 0;

	if (r < 0)
		return r;
	if (code == ENOENT)
		return error_set(err, -code,
				 "there is no such file or device: check the path, and that the device is attached");
	return error_set(err, -code, "open: %s", strerror(code));
}

int site_find(const char *path, struct site *ret, struct error *err)
{
	struct site site = { .path = path, .folder = -1 };

	site.file = open(path, O_PATH | O_CLOEXEC);
	if (site.file < 0)
		return site_refuse(path, errno, err);
	*ret = site;
	return 0;
}

int site_again(const char *path, int fd, struct site *ret, struct error *err)
{
	struct site site = { .path = path, .file = fcntl(fd, F_DUPFD_CLOEXEC, 0), .folder = -1 };

	if (site.file < 0)
		return error_errno(err, "dup");
	*ret = site;
	return 0;
}

/* Splits a path into its folder, which is opened, and its last part. Returns -errno if the folder cannot be opened. */
static int site_split(const char *path, struct site *site)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[PATH_MAX];

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EISDIR;
	if (strlen(name) > NAME_MAX || (size_t)(name - path) >= sizeof(folder))
		return -ENAMETOOLONG;
	snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
	site->folder = open(slash ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (site->folder < 0)
		return -errno;
	memcpy(site->name, name, strlen(name) + 1);
	return 0;
}

int site_plan(const char *path, struct site *ret, struct error *err)
{
	struct site site = { .path = path, .file = -1, .folder = -1 };
	struct stat st;
	int r = site_split(path, &site);

	if (r < 0)
		return site_refuse(path, -r, err);
	if (fstatat(site.folder, site.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
		site_close(&site);
		return error_set(err, -ENOENT, "it is a dangling symlink");
	}
	*ret = site;
	return 0;
}

int site_beside(const struct site *site, const char *suffix, struct site *ret, struct error *err)
{
	struct site beside = { .path = site->path, .file = -1 };

	if ((size_t)snprintf(beside.name, sizeof(beside.name), "%s%s", site->name, suffix) >= sizeof(beside.name))
		return error_set(err, -ENAMETOOLONG, "'%s%s': %s", site->name, suffix, strerror(ENAMETOOLONG));
	beside.folder = fcntl(site->folder, F_DUPFD_CLOEXEC, 0);
	if (beside.folder < 0)
		return error_errno(err, "dup");
	*ret = beside;
	return 0;
}

int site_beside_random(const struct site *site, const char *suffix, struct site *ret, struct error *err)
{
	char full[NAME_MAX + 1];
	struct stat st;
	uint64_t digits;
	int r;

	for (;;) {
		if (getrandom(&digits, sizeof(digits), 0) < 0)
			return error_errno(err, "cannot get random bytes");
		snprintf(full, sizeof(full), "%s%016" PRIx64, suffix, digits);
		r = site_beside(site, full, ret, err);
		if (r < 0 || fstatat(ret->folder, ret->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return r;
		site_close(ret);
	}
}

void site_close(struct site *site)
{
	close_fd(&site->file);
	close_fd(&site->folder);
	*site = SITE_NONE;
}

/* --- opening --- */

int site_open(const struct site *site, int flags, int *ret_fd, struct error *err)
{
	int fd = fdname_reopen(site->file, flags);

	if (fd < 0 && errno == ENOENT)
		return error_set(err, -ENOENT, "open: needs '/proc', which is not mounted");
	if (fd < 0 && errno == EACCES)
		return site_refuse_mode(site, flags, err);
	if (fd < 0)
		return error_errno(err, "open");
	*ret_fd = fd;
	return 0;
}

static int site_refuse_new(const struct site *site, struct error *err)
{
	struct stat st;
	int code = errno;

	if (code != EACCES || fstat(site->folder, &st) < 0)
		return error_set(err, -code, "open: %s", strerror(code));
	return error_set(err, -code,
			 "user %u may not make files in its directory, which is user %u's and has mode %04o",
			 (unsigned)geteuid(), (unsigned)st.st_uid, st.st_mode & 07777);
}

int site_create(const struct site *site, int *ret_fd, struct error *err)
{
	int fd = openat(site->folder, site->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return site_refuse_new(site, err);
	*ret_fd = fd;
	return 0;
}

int site_create_unnamed(const struct site *site, int *ret_fd, struct error *err)
{
	int fd = openat(site->folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0)
		return site_create(site, ret_fd, err);
	*ret_fd = fd;
	return 0;
}

/* --- the name --- */

bool site_has(int folder, const char *name, int fd)
{
	struct stat open, named;

	return fstat(fd, &open) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       same_file(&open, &named);
}

bool site_is(const struct site *site, int fd)
{
	return site->folder >= 0 && site_has(site->folder, site->name, fd);
}

int site_link(const struct site *site, int fd, struct error *err)
{
	char link[FDNAME_LINK_SIZE];

	if (site_is(site, fd))
		return 0;
	fdname_link(fd, link);
	if (linkat(AT_FDCWD, link, site->folder, site->name, AT_SYMLINK_FOLLOW) < 0)
		return error_errno(err, "cannot give the new volume the name '%s'", site->name);
	return 0;
}

/* Uses path as the file's folder and name. -errno if the file does not have that name, or it cannot be checked. */
static int site_take_name(struct site *site, const char *path, int fd)
{
	struct site found = { .path = site->path, .file = site->file, .folder = -1 };
	int r = site_split(path, &found);

	if (r < 0)
		return r;
	if (!site_is(&found, fd)) {
		close_fd(&found.folder);
		return -ENOENT;
	}
	close_fd(&site->folder);
	*site = found;
	return 0;
}

/* Tries the walked path first. If that ends in a symlink, the kernel knows where it led. Whichever folder is found,
 * the file has this name there. */
int site_name(struct site *site, int fd, struct error *err)
{
	char path[PATH_MAX] = "";
	int r;

	if (site->folder >= 0)
		r = site_is(site, fd) ? 0 : -ENOENT;
	else
		r = site_take_name(site, site->path, fd);
	if (r == 0)
		return 0;
	if (site->folder < 0)
		(void)fdname_path(fd, path, sizeof(path));
	if (path[0] == '/')
		r = site_take_name(site, path, fd);
	if (r == 0)
		return 0;
	if (error_is_shortage(r))
		return error_set(err, r, "cannot look for its name: %s", strerror(-r));
	return error_set(err, -EBUSY, "it was replaced or renamed just now, try again");
}

bool site_is_mount(const struct site *site)
{
	struct statx stx;

	return statx(site->folder, site->name, AT_SYMLINK_NOFOLLOW, 0, &stx) == 0 &&
	       stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

int site_replace(const struct site *from, int fd, const struct site *to, int former, struct error *err)
{
	struct stat st;

	if (!site_is(from, fd))
		return error_set(err, -EBUSY, "'%s' was replaced or renamed meanwhile", from->name);
	if (!site_is(to, former) && (fstatat(to->folder, to->name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
		return error_set(err, -EBUSY, "another file took the name '%s' meanwhile", to->name);
	if (renameat(from->folder, from->name, to->folder, to->name) < 0)
		return error_errno(err, "cannot rename '%s' to '%s'", from->name, to->name);
	return 0;
}

void site_remove(const struct site *site, int fd)
{
	if (site_is(site, fd))
		unlinkat(site->folder, site->name, 0);
}

int site_sync(const struct site *site, struct error *err)
{
	auto_close int fd = openat(site->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return error_errno(err, "cannot flush the directory of '%s'", site->path);
	return 0;
}
