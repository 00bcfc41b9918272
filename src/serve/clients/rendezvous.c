/* SPDX-License-Identifier: MIT */
/* A socket gets its name when it listens, so that one which refuses connections is a dead daemon's, for ever: names are
 * random and never used again. */
#include "serve/clients/rendezvous.h"

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

/* ---- the folder ---- */

/* Only for root's daemon the place is everybody's: a user's variable must not lead him elsewhere. */
static int rendezvous_folder(char *ret, size_t size, struct error *err)
{
	const char *runtime = geteuid() ? getenv("XDG_RUNTIME_DIR") : NULL;
	int n;

	if (geteuid() == 0)
		n = snprintf(ret, size, "/run/datasetfs");
	else if (runtime && runtime[0] == '/')
		n = snprintf(ret, size, "%s/datasetfs", runtime);
	else
		n = snprintf(ret, size, "/run/user/%u/datasetfs", (unsigned)geteuid());
	if (n < 0 || (size_t)n >= size)
		return error_set(err, -ENAMETOOLONG, "'%s' is too long for the folder of a socket", runtime);
	return 0;
}

static int rendezvous_check_folder(const char *path, int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(err, -EPERM,
				 "'%s' belongs to user %u and has mode %03o, expected user %u and that nobody else may "
				 "write there", path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777,
				 (unsigned)geteuid());
	return 0;
}

static int rendezvous_open_folder(const char *path, int *ret_fd, struct error *err)
{
	bool made = mkdir(path, 0755) == 0;
	auto_close int fd = -1;
	int r;

	if (!made && errno != EEXIST)
		return error_errno(err, "cannot make '%s'", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, "cannot open '%s'", path);
	r = rendezvous_check_folder(path, fd, err);
	if (r < 0)
		return r;
	if (made && fchmod(fd, 0755) < 0) /* whatever the umask is */
		return error_errno(err, "cannot open '%s' to all users", path);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* ---- sockets in it ---- */

/* By the folder's descriptor: whoever renames it diverts nothing, and its length does not matter. */
static void rendezvous_address(int folder, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%.40s", folder, name);
}

static bool rendezvous_is_dead(int folder, const char *name)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	rendezvous_address(folder, name, &address);
	return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno == ECONNREFUSED;
}

static bool rendezvous_is_ours(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");

	return digits == 16 && !strcmp(name + digits, RENDEZVOUS_SUFFIX);
}

static void rendezvous_sweep(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir) {
		close_fd(&fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (rendezvous_is_ours(entry->d_name) && rendezvous_is_dead(folder, entry->d_name))
			unlinkat(folder, entry->d_name, 0);
	closedir(dir);
}

/* For all users; who may have what is decided when they have connected. */
static int rendezvous_listen(int fd, int folder, const char *name, struct error *err)
{
	struct sockaddr_un address;
	char draft[40];

	snprintf(draft, sizeof(draft), ".%s", name);
	rendezvous_address(folder, draft, &address);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err, "cannot make a socket");
	if (fchmodat(folder, draft, 0666, 0) < 0 || listen(fd, RENDEZVOUS_BACKLOG) < 0 ||
	    renameat(folder, draft, folder, name) < 0) {
		error_errno(err, "cannot listen");
		unlinkat(folder, draft, 0);
		return err->code;
	}
	return 0;
}

int rendezvous_open(struct rendezvous *ret, struct error *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	auto_close int folder = -1;
	struct rendezvous made;
	char path[PATH_MAX];
	uint64_t number;
	int r;

	if (fd < 0 || getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_errno(err, "cannot make a socket");
	r = rendezvous_folder(path, sizeof(path), err);
	if (r < 0)
		return r;
	snprintf(made.name, sizeof(made.name), "%016" PRIx64 RENDEZVOUS_SUFFIX, number);
	if (strlen(path) + 1 + strlen(made.name) >= sizeof(made.path))
		return error_set(err, -ENAMETOOLONG, "'%s' is too long for the folder of a socket", path);
	memcpy(mempcpy(made.path, path, strlen(path)), "/", 1);
	memcpy(made.path + strlen(path) + 1, made.name, strlen(made.name) + 1);
	r = rendezvous_open_folder(path, &folder, err);
	if (r < 0)
		return r;
	rendezvous_sweep(folder);
	r = rendezvous_listen(fd, folder, made.name, err);
	if (r < 0)
		return error_wrap(err, r, "'%s'", path);
	made.listener = take_fd(&fd);
	made.folder = take_fd(&folder);
	*ret = made;
	return 0;
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
