/* SPDX-License-Identifier: MIT */
/* Preloaded into datasetfsctl: a fabric that is not there. A line of options connects controller nvme7, and the
 * discovery log has entries whose strings a terminal would obey.
 *   FABRICS_ERRNO     an error for each line that is written, separated by commas, 0: it connects; 0 when there is none
 *   FABRICS_LINES     file to which the lines are added
 *   FABRICS_STUCK     nothing disconnects
 *   FABRICS_COUNT     so many entries has the log, it says; there are 9
 *   FABRICS_CHANGING  the log is another one whenever its head is read */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <libnvme.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES 9

enum place { ELSEWHERE, FABRICS, CONTROLLER, DELETION };

static enum place places[64]; /* of descriptors */

static enum place place_of(const char *path)
{
	if (!strcmp(path, "/dev/nvme-fabrics"))
		return FABRICS;
	if (!strcmp(path, "/dev/nvme7"))
		return CONTROLLER;
	return !strcmp(path, "/sys/class/nvme/nvme7/delete_controller") ? DELETION : ELSEWHERE;
}

static int open_any(const char *path, int flags, mode_t mode)
{
	enum place place = place_of(path);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, place == ELSEWHERE ? path : "/dev/null", flags, mode);

	if (fd >= 0 && (size_t)fd < sizeof(places) / sizeof(*places))
		places[fd] = place;
	return fd;
}

static int open_with(const char *path, int flags, va_list ap)
{
	return open_any(path, flags, flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = open_with(path, flags, ap);
	va_end(ap);
	return fd;
}

int open64(const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = open_with(path, flags, ap);
	va_end(ap);
	return fd;
}

static bool is_at(int fd, enum place place)
{
	return fd >= 0 && (size_t)fd < sizeof(places) / sizeof(*places) && places[fd] == place;
}

/* Takes the next number of FABRICS_ERRNO. */
static int next_error(void)
{
	static char *rest;
	static bool begun;

	if (!begun)
		rest = getenv("FABRICS_ERRNO");
	begun = true;
	if (!rest || !*rest)
		return 0;
	errno = (int)strtol(rest, &rest, 10);
	rest += *rest == ',';
	return errno;
}

static ssize_t connect_line(const void *line, size_t length)
{
	const char *file = getenv("FABRICS_LINES");
	FILE *out = file ? fopen(file, "a") : NULL;

	if (out) {
		fprintf(out, "%.*s\n", (int)length, (const char *)line);
		fclose(out);
	}
	return next_error() ? -1 : (ssize_t)length;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	if (is_at(fd, FABRICS))
		return connect_line(bytes, length);
	if (is_at(fd, DELETION) && getenv("FABRICS_STUCK")) {
		errno = EBUSY;
		return -1;
	}
	return syscall(SYS_write, fd, bytes, length);
}

ssize_t read(int fd, void *bytes, size_t length)
{
	if (is_at(fd, FABRICS))
		return snprintf(bytes, length, "instance=7,cntlid=1\n");
	return syscall(SYS_read, fd, bytes, length);
}

static void fill(struct nvmf_disc_log_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->trtype = NVMF_TRTYPE_TCP;
	entry->subtype = NVME_NQN_NVME;
	strcpy(entry->traddr, "\033[2J\302\233m");
	strcpy(entry->trsvcid, "\2331m\xc3\xa9");
	strcpy(entry->subnqn, "nqn.\033c");
}

/* A piece of the discovery log: its head, or whole entries. */
int nvme_get_log(struct nvme_get_log_args *args)
{
	static unsigned heads;
	const char *count = getenv("FABRICS_COUNT");
	struct nvmf_discovery_log head = { 0 };
	uint64_t first;

	if (args->lpo == 0) {
		head.numrec = htole64(count ? strtoull(count, NULL, 10) : 1);
		head.genctr = htole64(getenv("FABRICS_CHANGING") ? ++heads : 7);
		memcpy(args->log, &head, args->len < sizeof(head) ? args->len : sizeof(head));
		return 0;
	}
	first = (args->lpo - sizeof(head)) / sizeof(head.entries[0]);
	for (uint64_t i = 0; i < args->len / sizeof(head.entries[0]); i++) {
		if (first + i >= ENTRIES)
			return NVME_SC_INVALID_FIELD;
		fill((struct nvmf_disc_log_entry *)args->log + i);
	}
	return 0;
}
