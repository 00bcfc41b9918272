/* SPDX-License-Identifier: MIT */
/* Preloaded into datasetfsctl: a fabric that is not there. A line of options connects controller nvme7, and the
 * discovery log has entries whose strings a terminal would obey.
 *   FABRICS_ERRNO     an error for each line that is written, separated by commas, 0: it connects; 0 when there is none
 *   FABRICS_LINES     file to which the lines are added, and the modes that attributes of the controller get
 *   FABRICS_CAN       options that the kernel has, ",tls,dhchap_secret=%s"
 *   FABRICS_IGNORES   the controller has no attributes for secrets
 *   FABRICS_GONE      what must be nowhere in memory at the end, backwards; else the process aborts
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define ENTRIES    9
#define ATTRIBUTES "/sys/class/nvme/nvme7/"

enum place { ELSEWHERE, FABRICS, CONTROLLER, DELETION };

static enum place places[64]; /* of descriptors */
static bool is_connected[64]; /* by this descriptor */

static bool is_at(int fd, enum place place)
{
	return fd >= 0 && (size_t)fd < sizeof(places) / sizeof(*places) && places[fd] == place;
}

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
	if (is_at(fd, place))
		is_connected[fd] = false;
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

/* Without stdio, which would keep a copy. */
static void note(const void *line, size_t length)
{
	const char *file = getenv("FABRICS_LINES");
	struct iovec parts[] = { { (void *)line, length }, { "\n", 1 } };
	int fd = file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

	if (fd < 0)
		return;
	(void)!writev(fd, parts, 2);
	close(fd);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	if (is_at(fd, FABRICS)) {
		note(bytes, length);
		is_connected[fd] = !next_error();
		return is_connected[fd] ? (ssize_t)length : -1;
	}
	if (is_at(fd, DELETION) && getenv("FABRICS_STUCK")) {
		errno = EBUSY;
		return -1;
	}
	if (is_at(fd, DELETION))
		note("deleted", 7);
	return syscall(SYS_write, fd, bytes, length);
}

ssize_t read(int fd, void *bytes, size_t length)
{
	const char *can = getenv("FABRICS_CAN");

	if (!is_at(fd, FABRICS))
		return syscall(SYS_read, fd, bytes, length);
	if (is_connected[fd])
		return snprintf(bytes, length, "instance=7,cntlid=1\n");
	return snprintf(bytes, length, "instance=-1,cntlid=-1%s\n", can ? can : "");
}

int chmod(const char *path, mode_t mode)
{
	char text[256];

	if (strncmp(path, ATTRIBUTES, strlen(ATTRIBUTES)) != 0)
		return (int)syscall(SYS_fchmodat, AT_FDCWD, path, mode);
	if (getenv("FABRICS_IGNORES")) {
		errno = ENOENT;
		return -1;
	}
	note(text, (size_t)snprintf(text, sizeof(text), "%s has the mode %o", path + strlen(ATTRIBUTES), mode));
	return 0;
}

static bool is_backwards(const char *at, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (at[i] != text[length - 1 - i])
			return false;
	return true;
}

/* Looks through the stack, the heap and the data of the process. */
__attribute__((destructor)) static void search(void)
{
	const char *text = getenv("FABRICS_GONE");
	FILE *maps = text ? fopen("/proc/self/maps", "r") : NULL;
	size_t length = text ? strlen(text) : 0;
	unsigned long begin, end;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx rw", &begin, &end) != 2 || !strstr(line, " rw"))
			continue;
		for (const char *at = (const char *)begin; at + length <= (const char *)end; at++)
			if (*at == text[length - 1] && is_backwards(at, text, length))
				abort();
	}
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
