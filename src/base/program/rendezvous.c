/* SPDX-License-Identifier: MIT */
/* Makes, finds and removes sockets. A socket gets its final name only once it listens, and names are random and
 * never reused, so a socket that refuses connections belongs to a dead daemon. */
#include "base/program/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define RENDEZVOUS_BACKLOG 128
#define RENDEZVOUS_SUFFIX  ".socket"
#define RENDEZVOUS_TEMPORARY "/tmp"

struct rendezvous_folder {
	int fd;
	char path[PATH_MAX];
};

/* ---- the folder ---- */

/* Writes the path of the folder. Root's is fixed, so that a user's environment cannot lead root elsewhere. */
static int rendezvous_runtime(uid_t owner, char ret[PATH_MAX], struct error *err)
{
	const char *runtime = owner && owner == geteuid() ? getenv("XDG_RUNTIME_DIR") : NULL;
	int n;

	if (owner == 0)
		n = snprintf(ret, PATH_MAX, "/run/datasetfs");
	else if (runtime && runtime[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/datasetfs", runtime);
	else
		n = snprintf(ret, PATH_MAX, "/run/user/%u/datasetfs", (unsigned)owner);
	if (n < 0 || n >= PATH_MAX)
		return error_set(err, -ENAMETOOLONG, "'%s' is too long for the folder of a socket", runtime);
	return 0;
}

static int rendezvous_check_folder(uid_t owner, const struct rendezvous_folder *folder, struct error *err)
{
	struct stat st;

	if (fstat(folder->fd, &st) < 0)
		return error_errno(err, "'%s'", folder->path);
	if (st.st_uid != owner || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(err, -EPERM,
				 "'%s' belongs to user %u and has mode %03o, expected user %u and no write access for "
				 "others", folder->path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777,
				 (unsigned)owner);
	return 0;
}

/* Opens and checks the folder; on failure folder->fd is -1. */
static int rendezvous_open_folder(uid_t owner, struct rendezvous_folder *folder, struct error *err)
{
	int r;

	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder->fd < 0)
		return error_errno(err, "cannot open '%s'", folder->path);
	r = rendezvous_check_folder(owner, folder, err);
	if (r < 0)
		close_fd(&folder->fd);
	return r;
}

static int rendezvous_make_folder(struct rendezvous_folder *folder, struct error *err)
{
	bool made = mkdir(folder->path, 0755) == 0;
	int r;

	if (!made && errno != EEXIST)
		return error_errno(err, "cannot make '%s'", folder->path);
	r = rendezvous_open_folder(geteuid(), folder, err);
	if (r == 0 && made && fchmod(folder->fd, 0755) < 0) { /* whatever the umask is */
		r = error_errno(err, "cannot open '%s' to all users", folder->path);
		close_fd(&folder->fd);
	}
	return r;
}

/* Finds owner's folder in /tmp, for users without a session (su(1), batch jobs), who have no runtime directory. Any
 * user can take a name there first, so the name ends randomly and the folder is recognised by its owner. */
static int rendezvous_find_temporary(uid_t owner, struct rendezvous_folder *folder)
{
	DIR *dir = opendir(RENDEZVOUS_TEMPORARY);
	const struct dirent *entry;
	char prefix[32];
	int r = -ENOENT;

	snprintf(prefix, sizeof(prefix), "datasetfs-%u-", (unsigned)owner);
	while (dir && r < 0 && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(folder->path, sizeof(folder->path), RENDEZVOUS_TEMPORARY "/%s", entry->d_name);
		r = rendezvous_open_folder(owner, folder, NULL);
	}
	if (dir)
		closedir(dir);
	return r;
}

static int rendezvous_make_temporary(struct rendezvous_folder *folder, struct error *err)
{
	if (rendezvous_find_temporary(geteuid(), folder) == 0)
		return 0;
	snprintf(folder->path, sizeof(folder->path), RENDEZVOUS_TEMPORARY "/datasetfs-%u-XXXXXX", (unsigned)geteuid());
	if (!mkdtemp(folder->path) || chmod(folder->path, 0755) < 0)
		return error_errno(err, "cannot make a folder in '" RENDEZVOUS_TEMPORARY "'");
	return rendezvous_open_folder(geteuid(), folder, err);
}

static int rendezvous_make_any(struct rendezvous_folder *ret, struct error *err)
{
	int r = rendezvous_runtime(geteuid(), ret->path, err);

	if (r == 0)
		r = rendezvous_make_folder(ret, err);
	if (r == 0 || geteuid() == 0)
		return r;
	return rendezvous_make_temporary(ret, NULL) == 0 ? 0 : r;
}

/* ---- sockets in it ---- */

/* Goes through the folder's descriptor, so that renaming the folder diverts nothing and its path may be long. */
static void rendezvous_address(int folder, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%.75s", folder, name);
}

static int rendezvous_connect_one(int folder, const char *name, int type, int *ret_fd)
{
	auto_close int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	rendezvous_address(folder, name, &address);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Connects with the wrong type: a live socket refuses that without filling its queue, a dead one refuses to connect. */
static bool rendezvous_is_dead(int folder, const char *name)
{
	auto_close int fd = -1;

	return rendezvous_connect_one(folder, name, SOCK_DGRAM, &fd) == -ECONNREFUSED;
}

static bool rendezvous_is_ours(const char *name)
{
	const char *end = strrchr(name, '-');
	size_t digits;

	if (end && strspn(name, "0123456789:") == (size_t)(end - name))
		name = end + 1;
	digits = strspn(name, "0123456789abcdef");
	return digits == 16 && !strcmp(name + digits, RENDEZVOUS_SUFFIX);
}

/* Calls each for every socket name of ours in the folder, while it returns true. */
static void rendezvous_each(int folder, bool (*each)(int folder, const char *name, void *argument), void *argument)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir) {
		close_fd(&fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (rendezvous_is_ours(entry->d_name) && !each(folder, entry->d_name, argument))
			break;
	closedir(dir);
}

static bool rendezvous_sweep(int folder, const char *name, void *argument)
{
	(void)argument;
	if (rendezvous_is_dead(folder, name))
		unlinkat(folder, name, 0);
	return true;
}

static int rendezvous_listen(int fd, int folder, const char *name, mode_t mode, struct error *err)
{
	struct sockaddr_un address;
	char draft[sizeof(((struct rendezvous *)0)->name) + 1];

	snprintf(draft, sizeof(draft), ".%s", name);
	rendezvous_address(folder, draft, &address);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err, "cannot make a socket");
	if (fchmodat(folder, draft, mode, 0) < 0 || listen(fd, RENDEZVOUS_BACKLOG) < 0 ||
	    renameat(folder, draft, folder, name) < 0) {
		error_errno(err, "cannot listen");
		unlinkat(folder, draft, 0);
		return err->code;
	}
	return 0;
}

static int rendezvous_name(const char *prefix, const char *folder, struct rendezvous *made, struct error *err)
{
	uint64_t number;
	int length;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_errno(err, "cannot make a socket");
	snprintf(made->name, sizeof(made->name), "%.47s%016" PRIx64 RENDEZVOUS_SUFFIX, prefix, number);
	length = snprintf(made->path, sizeof(made->path), "%.100s/%s", folder, made->name);
	if (strlen(folder) > 100 || (size_t)length >= sizeof(made->path))
		return error_set(err, -ENAMETOOLONG, "'%s' is too long for the folder of a socket", folder);
	return 0;
}

int rendezvous_open(const char *prefix, mode_t mode, struct rendezvous *ret, struct error *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct rendezvous_folder folder = { .fd = -1 };
	struct rendezvous made = RENDEZVOUS_NONE;
	int r;

	if (fd < 0)
		return error_errno(err, "cannot make a socket");
	r = rendezvous_make_any(&folder, err);
	if (r < 0)
		return r;
	r = rendezvous_name(prefix, folder.path, &made, err);
	if (r == 0) {
		rendezvous_each(folder.fd, rendezvous_sweep, NULL);
		r = rendezvous_listen(fd, folder.fd, made.name, mode, err);
		r = r < 0 ? error_wrap(err, r, "'%s'", folder.path) : 0;
	}
	if (r < 0) {
		close_fd(&folder.fd);
		return r;
	}
	made.listener = take_fd(&fd);
	made.folder = folder.fd;
	*ret = made;
	return 0;
}

/* The name is removed one day, so it must lead to nothing else. */
void rendezvous_adopt(struct rendezvous *ret, int folder, int listener, const char *name, const char *path)
{
	struct rendezvous adopted = { .folder = folder, .listener = listener };

	if (folder < 0 || listener < 0 || strlen(name) >= sizeof(adopted.name) || !rendezvous_is_ours(name)) {
		close_fd(&folder);
		close_fd(&listener);
		*ret = RENDEZVOUS_NONE;
		return;
	}
	snprintf(adopted.name, sizeof(adopted.name), "%s", name);
	snprintf(adopted.path, sizeof(adopted.path), "%s", path);
	*ret = adopted;
}

void rendezvous_withdraw(const struct rendezvous *rendezvous)
{
	if (rendezvous->folder >= 0)
		unlinkat(rendezvous->folder, rendezvous->name, 0);
}

void rendezvous_close(struct rendezvous *rendezvous)
{
	rendezvous_withdraw(rendezvous);
	close_fd(&rendezvous->folder);
	close_fd(&rendezvous->listener);
	*rendezvous = RENDEZVOUS_NONE;
}

/* ---- the client's side ---- */

struct rendezvous_search {
	uid_t owner;
	const char *prefix;
	int fd;
};

/* The folder's owner could link another user's socket there, so the peer must be owner or root. */
static bool rendezvous_is_trusted(int fd, uid_t owner)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == owner || peer.uid == 0);
}

static bool rendezvous_try(int folder, const char *name, void *argument)
{
	struct rendezvous_search *search = argument;
	auto_close int fd = -1;

	if (strncmp(name, search->prefix, strlen(search->prefix)) == 0 &&
	    rendezvous_connect_one(folder, name, SOCK_SEQPACKET, &fd) == 0 && rendezvous_is_trusted(fd, search->owner))
		search->fd = take_fd(&fd);
	return search->fd < 0;
}

int rendezvous_connect(uid_t owner, const char *prefix)
{
	struct rendezvous_search search = { .owner = owner, .prefix = prefix, .fd = -1 };
	struct rendezvous_folder folder = { .fd = -1 };

	if (rendezvous_runtime(owner, folder.path, NULL) == 0 && rendezvous_open_folder(owner, &folder, NULL) == 0)
		rendezvous_each(folder.fd, rendezvous_try, &search);
	close_fd(&folder.fd);
	if (search.fd < 0 && owner && rendezvous_find_temporary(owner, &folder) == 0)
		rendezvous_each(folder.fd, rendezvous_try, &search);
	close_fd(&folder.fd);
	return search.fd;
}
