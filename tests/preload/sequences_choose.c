/* SPDX-License-Identifier: MIT */
/* The arguments of calls: numbers from the seed, descriptors that are open, paths in all their forms. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void choose_seed(uint64_t seed, uint64_t salt)
{
	state.random = (seed + 1) * 0x9e3779b97f4a7c15u + salt * 0xd1b54a32d192ed03u;
}

uint64_t choose(uint64_t limit)
{
	uint64_t word = state.random += 0x9e3779b97f4a7c15u;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
	word = (word ^ word >> 27) * 0x94d049bb133111ebu;
	return (word ^ word >> 31) % limit;
}

bool chance(unsigned percent)
{
	return choose(100) < percent;
}

/* Of those that are open and, if asked for, regular files of the mount; -1 if there is none. */
static int any_open(bool is_regular)
{
	int found[HIGHEST], count = 0;
	struct stat attributes;

	for (int fd = 3; fd < HIGHEST; fd++)
		if (raw_is_open(fd) &&
		    (!is_regular || (fstat(fd, &attributes) == 0 && attributes.st_dev == state.device &&
				     S_ISREG(attributes.st_mode))))
			found[count++] = fd;
	return count == 0 ? -1 : found[choose((uint64_t)count)];
}

int choose_descriptor(void)
{
	int fd = chance(90) ? any_open(false) : -1;

	if (fd >= 0)
		return fd;
	switch (choose(8)) {
	case 0:
		return -1;
	case 1:
		return 0;
	case 2:
		return 1000000;
	default:
		return 3 + (int)choose(8);
	}
}

int choose_regular(void)
{
	int fd = chance(85) ? any_open(true) : -1;

	return fd >= 0 ? fd : choose_descriptor();
}

int64_t choose_offset(int fd)
{
	struct stat attributes = { .st_size = 0 };
	int64_t size;

	fstat(fd, &attributes);
	size = attributes.st_size;
	switch (choose(16)) {
	case 0:
		return -1;
	case 1:
		return size;
	case 2:
		return size + (int64_t)choose(5000);
	case 3:
		return size - 1;
	case 4:
		return -(int64_t)choose((uint64_t)size + 2);
	case 5:
		return chance(50) ? INT64_MAX : INT64_MAX - 4096;
	case 6:
		return chance(50) ? INT64_MIN : (int64_t)1 << 40;
	case 7:
	case 8:
		return 0;
	case 9:
		return 4096 * (int64_t)choose(4);
	default:
		return (int64_t)choose((uint64_t)size + 1);
	}
}

size_t choose_size(void)
{
	static const size_t sizes[] = {
		0, 1, 512, 4095, 4096, 4097, 8000, 8192, 65536, 131072, 262144, 1u << 20, ROOM
	};
	uint64_t kind = choose(10);

	if (kind < 4)
		return sizes[choose(10)];
	if (kind == 4)
		return sizes[choose(sizeof(sizes) / sizeof(sizes[0]))];
	return kind < 8 ? choose(300) : choose(20000);
}

/* With a mark behind: a call that writes there is seen in what the next one finds. */
uint8_t *choose_buffer(size_t size)
{
	uint8_t *buffer = state.buffer + (chance(50) ? 0 : choose(4096));

	memset(buffer, 0xa5, size < 70000 ? size + 64 : 64);
	return buffer;
}

/* The same place by a longer way, or one near it. */
static void add_detours(const char *prefix, const char *name, char *path, size_t room)
{
	static const char *const before[] = { "./", "dir/../", "self/self/", "dir/sub/../../", "../mnt/", "/" };
	static const char *const behind[] = { "/", "/.", "/..", "//" };
	const char *slash = strchr(name, '/');

	if (chance(50))
		snprintf(path, room, "%s%s%s", prefix, *prefix || chance(10) ? before[choose(6)] : before[choose(5)],
			 name);
	else if (chance(30) && slash)
		snprintf(path, room, "%s%.*s/.//./%s", prefix, (int)(slash - name), name, slash + 1);
	else
		snprintf(path, room, "%s%s%s", prefix, name, behind[choose(4)]);
}

/* A descriptor to open its file again through; -1 for a pipe, as opening that again would block. */
static int any_reopened(void)
{
	int fd = choose_regular();
	struct stat attributes;

	return fstat(fd, &attributes) != 0 || S_ISREG(attributes.st_mode) || S_ISDIR(attributes.st_mode) ? fd : -1;
}

static void any_odd_path(char *path, size_t room)
{
	int fd = any_reopened();

	switch (choose(9)) {
	case 0:
		path[0] = 0;
		break;
	case 1:
		snprintf(path, room, "/dev/null");
		break;
	case 2:
		memset(path, 'n', 300);
		path[300] = 0;
		break;
	case 3:
		memset(path, '/', 5000);
		snprintf(path + 5000, room - 5000, "small");
		break;
	case 4:
		snprintf(path, room, "..");
		break;
	case 5:
		snprintf(path, room, "/dev/fd/%d", fd);
		break;
	case 6:
		snprintf(path, room, "/proc/self/fd/%d/8k", fd);
		break;
	default:
		snprintf(path, room, "/proc/self/fd/%d", fd);
	}
}

static void any_path(char *path, size_t room, bool is_relative)
{
	const char *name = state.pool[choose(POOL)];
	char prefix[4200] = "";

	if (chance(6)) {
		any_odd_path(path, room);
		return;
	}
	if (!is_relative && chance(50))
		snprintf(prefix, sizeof(prefix), "%s/mnt/", state.top);
	if (chance(15))
		add_detours(prefix, name, path, room);
	else
		snprintf(path, room, "%s%s", prefix, name);
}

void choose_path(struct place *ret)
{
	ret->dirfd = AT_FDCWD;
	any_path(ret->path, sizeof(ret->path), false);
}

void choose_path_at(struct place *ret)
{
	ret->dirfd = chance(40) ? choose_descriptor() : AT_FDCWD;
	any_path(ret->path, sizeof(ret->path), ret->dirfd != AT_FDCWD && chance(80));
}

/* Nothing is made but beside the mount: the call is for a name there or on the mount, which refuses. */
bool may_create(const struct place *place)
{
	char current[4200], prefix[4200];
	bool is_below;

	for (const char *const *name = (const char *const[]){ "/mnt/", "/outside/", NULL }; *name; name++) {
		snprintf(prefix, sizeof(prefix), "%s%s", state.top, *name);
		is_below = strncmp(place->path, prefix, strlen(prefix)) == 0;
		if (is_below && !strstr(place->path + strlen(prefix), ".."))
			return state.log->has_changes = true;
	}
	if (place->dirfd != AT_FDCWD || place->path[0] == '/' || strstr(place->path, ".."))
		return false;
	snprintf(prefix, sizeof(prefix), "%s/mnt", state.top);
	is_below = raw_call(SYS_getcwd, (long)current, sizeof(current), 0, 0, 0, 0) > 0 &&
		   strncmp(current, prefix, strlen(prefix)) == 0;
	state.log->has_changes |= is_below;
	return is_below;
}

/* Nor is anything changed that is not a file of the mount or of the test's own. */
bool may_change(int fd)
{
	char path[64], target[4200];
	struct stat attributes;
	long length;

	if (fd < 3 || fstat(fd, &attributes) != 0)
		return true;
	if (attributes.st_dev == state.device || S_ISFIFO(attributes.st_mode) || S_ISSOCK(attributes.st_mode))
		return true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = raw_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)target, sizeof(target) - 1, 0, 0);
	if (length <= 0 || !S_ISREG(attributes.st_mode))
		return false;
	target[length] = 0;
	state.log->has_changes = true;
	return strncmp(target, "/memfd:", 7) == 0 ||
	       (strncmp(target, state.top, strlen(state.top)) == 0 && strstr(target, "/outside/"));
}
