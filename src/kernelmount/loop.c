/* SPDX-License-Identifier: MIT */
/* Takes a free loop device. If another program takes it first, tries the next one. */
#include "kernelmount/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LOOP_FOLDER "/dev/"
#define LOOP_TRIES  64

static int loop_try(int control, const struct loop_config *config, struct loop *ret, struct error *err)
{
	int number = ioctl(control, LOOP_CTL_GET_FREE);
	struct loop loop = LOOP_NONE;

	if (number < 0)
		return error_errno(err, "no free loop device");
	snprintf(loop.path, sizeof(loop.path), LOOP_FOLDER "loop%d", number);
	loop.fd = open(loop.path, O_RDONLY | O_CLOEXEC);
	if (loop.fd < 0)
		return error_errno(err, "cannot open '%s'", loop.path);
	if (ioctl(loop.fd, LOOP_CONFIGURE, config) < 0) {
		int code = errno;

		close(loop.fd);
		return error_set(err, -code, "cannot make '%s' a device of '%s': %s", loop.path,
				 (const char *)config->info.lo_file_name, strerror(code));
	}
	*ret = loop;
	return 0;
}

int loop_set_up(int file, const char *name, bool is_direct, struct loop *ret, struct error *err)
{
	auto_close int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = { .fd = (uint32_t)file };
	int r = -EBUSY;

	if (control < 0)
		return error_errno(err, "cannot open '/dev/loop-control'");
	config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR | (is_direct ? LO_FLAGS_DIRECT_IO : 0);
	snprintf((char *)config.info.lo_file_name, sizeof(config.info.lo_file_name), "%s", name);
	for (int i = 0; r == -EBUSY && i < LOOP_TRIES; i++)
		r = loop_try(control, &config, ret, err);
	return r;
}

void loop_close(struct loop *loop)
{
	close_fd(&loop->fd);
}

int loop_open(const char *name, struct loop *ret, struct error *err)
{
	struct loop loop = LOOP_NONE;

	snprintf(loop.path, sizeof(loop.path), LOOP_FOLDER "%s", name);
	loop.fd = open(loop.path, O_RDONLY | O_CLOEXEC);
	if (loop.fd < 0)
		return error_errno(err, "cannot open '%s'", loop.path);
	*ret = loop;
	return 0;
}

int loop_set_stay(const struct loop *loop, bool stays, struct error *err)
{
	struct loop_info64 info;

	if (ioctl(loop->fd, LOOP_GET_STATUS64, &info) == 0) {
		info.lo_flags = stays ? info.lo_flags & ~(uint32_t)LO_FLAGS_AUTOCLEAR :
					info.lo_flags | LO_FLAGS_AUTOCLEAR;
		if (ioctl(loop->fd, LOOP_SET_STATUS64, &info) == 0)
			return 0;
	}
	return error_errno(err, "cannot change '%s'", loop->path);
}

const char *loop_name(const struct loop *loop)
{
	return loop->path + strlen(LOOP_FOLDER);
}

int loop_set_readahead(const struct loop *loop, unsigned kib, struct error *err)
{
	unsigned long sectors = kib * 2ul;

	if (ioctl(loop->fd, BLKRASET, sectors) < 0)
		return error_errno(err, "cannot set the read-ahead of '%s'", loop->path);
	return 0;
}
