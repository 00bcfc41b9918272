/* SPDX-License-Identifier: MIT */
/* Writes a line of options to /dev/nvme-fabrics, and "1" to the attribute delete_controller. */
#include "device/nvme/fabrics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FABRICS_DEVICE "/dev/nvme-fabrics"
#define FABRICS_LINE   4096u /* bytes of a line of options: the kernel takes a page */

/* "nqn=…,transport=tcp,…", as the kernel parses it. */
struct fabrics_line {
	char text[FABRICS_LINE];
	size_t length; /* FABRICS_LINE: it did not fit */
};

static void fabrics_add(struct fabrics_line *line, const char *fmt, ...) printf_like(2, 3);
static void fabrics_add(struct fabrics_line *line, const char *fmt, ...)
{
	size_t room = sizeof(line->text) - line->length;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line->text + line->length, room, fmt, ap);
	va_end(ap);
	line->length += (size_t)n < room ? (size_t)n : room;
}

static void fabrics_add_number(struct fabrics_line *line, const char *option, int n)
{
	if (n)
		fabrics_add(line, ",%s=%d", option, n);
}

static void fabrics_add_settings(struct fabrics_line *line, const struct portal *portal,
				 const struct fabrics_settings *settings)
{
	fabrics_add_number(line, "nr_io_queues", settings->queues);
	fabrics_add_number(line, "queue_size", settings->queue_size);
	fabrics_add_number(line, "keep_alive_tmo", settings->keep_alive_tmo);
	/* The kernel refuses these options for loop, which has no connection to lose. */
	if (strcmp(portal->transport, "loop") != 0) {
		fabrics_add_number(line, "reconnect_delay", settings->reconnect_delay);
		fabrics_add_number(line, "ctrl_loss_tmo", settings->ctrl_loss_tmo);
		fabrics_add_number(line, "fast_io_fail_tmo", settings->fast_io_fail_tmo);
	}
	if (settings->digests && !strcmp(portal->transport, "tcp"))
		fabrics_add(line, ",hdr_digest,data_digest");
}

/* Resolves host names, as the kernel knows none. */
static int fabrics_describe(const struct host *host, const char *nqn, const struct portal *portal,
			    const struct fabrics_settings *settings, struct fabrics_line *line, struct error *err)
{
	struct portal where;
	int r = portal_resolve(portal, &where, err);

	if (r < 0)
		return r;
	line->length = 0;
	fabrics_add(line, "nqn=%s,transport=%s", nqn, where.transport);
	if (where.address[0])
		fabrics_add(line, ",traddr=%s", where.address);
	if (where.service[0])
		fabrics_add(line, ",trsvcid=%s", where.service);
	fabrics_add(line, ",hostnqn=%s,hostid=%s", host->nqn, host->id);
	fabrics_add_settings(line, portal, settings);
	return line->length < sizeof(line->text) ? 0 : error_set(err, -E2BIG, "'%s': the options are too long", nqn);
}

/* Describes a failed connection by what the kernel gives. */
static int fabrics_fail(int code, const struct portal *portal, struct error *err)
{
	char text[PORTAL_TEXT_SIZE];

	portal_text(portal, text);
	switch (code) {
	case EALREADY:
		return error_set(err, -code, "'%s': already connected", text);
	case ECONNREFUSED:
		return error_set(err, -code, "'%s': connection refused", text);
	case EPERM:
	case EACCES:
		return error_set(err, -code, "'%s': %s", text, strerror(code));
	case EINVAL:
	case EOPNOTSUPP:
		return error_set(err, -code, "'%s': the kernel refused the options; the kernel log says why", text);
	default:
		return error_set(err, -EHOSTUNREACH,
				 "'%s': no answer, or the kernel refused it; the kernel log says which", text);
	}
}

static int fabrics_open(const struct portal *portal, int *ret, struct error *err)
{
	char text[PORTAL_TEXT_SIZE];

	*ret = open(FABRICS_DEVICE, O_RDWR | O_CLOEXEC);
	if (*ret >= 0)
		return 0;
	if (errno == ENOENT)
		return error_set(err, -ENODEV, "'%s': there is no '" FABRICS_DEVICE "', try 'modprobe nvme-%s'",
				 portal_text(portal, text), portal->transport);
	return error_errno(err, "'%s': cannot open '" FABRICS_DEVICE "'", portal_text(portal, text));
}

/* The answer is "instance=7,cntlid=1". */
static int fabrics_take_name(int fd, char name[FABRICS_NAME_SIZE], struct error *err)
{
	char text[128];
	ssize_t n = read(fd, text, sizeof(text) - 1);
	int number;

	if (n < 0)
		return error_errno(err, "cannot read '" FABRICS_DEVICE "'");
	text[n] = 0;
	if (sscanf(text, "instance=%d", &number) != 1 || number < 0)
		return error_set(err, -EIO, "the kernel does not say which controller is connected");
	snprintf(name, FABRICS_NAME_SIZE, "nvme%d", number);
	return 0;
}

int fabrics_connect(const struct host *host, const char *nqn, const struct portal *portal,
		    const struct fabrics_settings *settings, char name[FABRICS_NAME_SIZE], struct error *err)
{
	struct fabrics_line line;
	auto_close int fd = -1;
	int r = fabrics_describe(host, nqn, portal, settings, &line, err);

	if (r == 0)
		r = fabrics_open(portal, &fd, err);
	if (r < 0)
		return r;
	if (write(fd, line.text, line.length) != (ssize_t)line.length)
		return fabrics_fail(errno, portal, err);
	return fabrics_take_name(fd, name, err);
}

int fabrics_disconnect(const char *name, struct error *err)
{
	char path[PATH_MAX];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/sys/class/nvme/%.31s/delete_controller", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		return error_errno(err, "cannot disconnect controller '%s'", name);
	return 0;
}
