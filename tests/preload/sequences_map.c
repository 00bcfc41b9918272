/* SPDX-License-Identifier: MIT */
/* Calls of sequences that hand a file's bytes to the kernel: mappings, transfers, locks of nothing. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void map_look(unsigned slot)
{
	log_line("mapping %u: %zu bytes #%08x", slot, state.mappings[slot].length,
		 (unsigned)log_hash(0, state.mappings[slot].start, state.mappings[slot].length));
}

/* Only what lies before the end of the file may be looked at. */
static void map_file(void)
{
	static const int protections[] = { PROT_READ, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC };
	int fd = choose_regular(), protection = protections[choose(4)], flags = chance(50) ? MAP_PRIVATE : MAP_SHARED;
	struct stat attributes = { .st_size = 0 };
	int64_t offset = chance(50) ? 0 : (int64_t)choose(5) * 4096 + (chance(5) ? 100 : 0), left;
	unsigned slot = (unsigned)choose(MAPPINGS), kind = (unsigned)choose(3);
	size_t length = chance(5) ? 0 : 1 + choose(300000);
	uint8_t *start;

	errno = 0;
	if (kind == 0)
		start = mmap(NULL, length, protection, flags, fd, offset);
	else if (kind == 1)
		start = mmap64(NULL, length, protection, flags | MAP_POPULATE, fd, offset);
	else
		start = (uint8_t *)syscall(SYS_mmap, NULL, length, protection, flags, fd, offset);
	log_result(start == MAP_FAILED ? -1 : 0, "mmap(%zu, %d, %d, fd %d, %lld)", length, protection, flags, fd,
		   (long long)offset);
	if (start == MAP_FAILED)
		return;
	fstat(fd, &attributes);
	left = attributes.st_size - offset;
	if (!S_ISREG(attributes.st_mode) || attributes.st_dev != state.device)
		left = 0;
	state.mappings[slot].start = start;
	state.mappings[slot].length = left < 0 ? 0 : (size_t)left < length ? (size_t)left : length;
	map_look(slot);
}

static void map_again(void)
{
	unsigned slot = (unsigned)choose(MAPPINGS);

	if (state.mappings[slot].start)
		map_look(slot);
}

/* Reads everything that arrived in a pipe or in memory, and logs its length and hash. */
static void log_arrived(int from, const char *what)
{
	uint64_t hash = 0, total = 0;
	long result;

	while ((result = raw_call(SYS_read, from, (long)state.buffer, 65536, 0, 0, 0)) > 0) {
		hash = log_hash(hash, state.buffer, (size_t)result);
		total += (uint64_t)result;
	}
	log_line("%s: %llu bytes arrived #%08x", what, (unsigned long long)total, (unsigned)hash);
}

/* Until nothing comes any more: one call may take as much as it likes. */
static void send_file(void)
{
	int fd = choose_regular(), memory = memfd_create("target", 0);
	int64_t offset = choose_offset(fd), total = 0, given = offset;
	bool has_offset = chance(50);
	size_t size = choose_size();
	ssize_t result;

	errno = 0;
	do {
		result = chance(50) ? sendfile(memory, fd, has_offset ? &offset : NULL, size - (size_t)total) :
				      sendfile64(memory, fd, has_offset ? &offset : NULL, size - (size_t)total);
		total += result > 0 ? result : 0;
	} while (result > 0 && (size_t)total < size);
	log_result(result < 0 ? -1 : total, "sendfile(%d → %d, %lld, %zu) offset now %lld", fd, memory,
		   has_offset ? (long long)given : -1ll, size, has_offset ? (long long)offset : -1ll);
	raw_call(SYS_lseek, memory, 0, SEEK_SET, 0, 0, 0);
	log_arrived(memory, "sendfile");
	close(memory);
}

static void copy_range(void)
{
	int fd = choose_regular(), memory = memfd_create("target", 0);
	int64_t from = choose_offset(fd), to = (int64_t)choose(100), given = from, total = 0;
	bool has_offset = chance(50);
	size_t size = choose_size();
	ssize_t result;

	errno = 0;
	do {
		result = copy_file_range(fd, has_offset ? &from : NULL, memory, &to, size - (size_t)total, 0);
		total += result > 0 ? result : 0;
	} while (result > 0 && (size_t)total < size);
	log_result(result < 0 ? -1 : total, "copy_file_range(%d → %d, %lld, %zu)", fd, memory,
		   has_offset ? (long long)given : -1ll, size);
	log_arrived(memory, "copy_file_range");
	close(memory);
}

static void splice_file(void)
{
	int fd = choose_regular(), pair[2] = { -1, -1 };
	int64_t offset = choose_offset(fd), total = 0, given = offset;
	bool has_offset = chance(50);
	size_t size = choose(60000);
	ssize_t result;

	if (pipe2(pair, O_NONBLOCK) != 0)
		return;
	errno = 0;
	do {
		result =
			splice(fd, has_offset ? &offset : NULL, pair[1], NULL, size - (size_t)total, SPLICE_F_NONBLOCK);
		total += result > 0 ? result : 0;
	} while (result > 0 && (size_t)total < size);
	/* How much a pipe holds depends on how the pages lie. */
	log_result(result < 0 && errno != EAGAIN ? -1 : 0, "splice(%d → %d, %lld, %zu)", fd, pair[1],
		   has_offset ? (long long)given : -1ll, size);
	if (result >= 0)
		log_arrived(pair[0], "splice");
	close(pair[0]);
	close(pair[1]);
}

static void clone_file(void)
{
	int fd = choose_regular(), memory = memfd_create("target", 0);
	struct file_clone_range range = { .src_fd = fd, .src_length = 100 };

	errno = 0;
	if (chance(50))
		log_result(ioctl(memory, FICLONE, fd), "ioctl(%d, FICLONE, %d)", memory, fd);
	else
		log_result(ioctl(memory, FICLONERANGE, &range), "ioctl(%d, FICLONERANGE, %d)", memory, fd);
	close(memory);
}

const struct call calls_map[] = {
	{ "mmap", 10, map_file },  { "mapping", 4, map_again },  { "sendfile", 6, send_file },
	{ "copy", 5, copy_range }, { "splice", 5, splice_file }, { "clone", 2, clone_file },
	{ NULL, 0, NULL },
};
