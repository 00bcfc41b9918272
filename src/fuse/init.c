/* SPDX-License-Identifier: MIT */
/* Negotiates a FUSE connection, with every flag that saves a round trip on files that never change. */
#include "fuse/init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fuse/wire.h"

#define INIT_WRITE_MIN 4096u /* the kernel takes no less */

/* Not taken: AUTO_INVAL_DATA (fetches attributes at each read), WRITEBACK_CACHE, POSIX_ACL, EXPORT_SUPPORT. The kernel
 * only announces NO_OPEN and NO_OPENDIR; answering ENOSYS to the requests switches them off. */
static const uint64_t init_wanted = FUSE_ASYNC_READ | /* a large file's read-ahead goes out in parallel */
				    FUSE_ASYNC_DIO |
				    FUSE_PARALLEL_DIROPS | /* else one lookup per directory at a time */
				    FUSE_DO_READDIRPLUS | /* always: listed files are read next, without a LOOKUP */
				    FUSE_CACHE_SYMLINKS |
				    FUSE_MAX_PAGES | /* a file up to 1 MiB is one READ */
				    FUSE_ABORT_ERROR | /* tells an abort from an unmount */
				    FUSE_NO_OPEN_SUPPORT | FUSE_NO_OPENDIR_SUPPORT | FUSE_INIT_EXT;

/* Reads INIT. The descriptor blocks until the kernel has sent it, right after mount(2). */
static int init_receive(int fd, struct request *ret, struct error *err)
{
	static uint8_t bytes[FUSE_MIN_READ_BUFFER * 2];
	ssize_t n;

	do
		n = read(fd, bytes, sizeof(bytes));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, "cannot read the first FUSE request");
	if (wire_parse(bytes, (size_t)n, ret, err) < 0)
		return err->code;
	if (ret->opcode != FUSE_INIT)
		return error_set(err, -EPROTO, "the first FUSE request is %s, expected INIT",
				 wire_opcode_name(ret->opcode));
	return 0;
}

static int init_reply(int fd, uint64_t unique, int error, const struct fuse_init_out *out, struct error *err)
{
	struct fuse_out_header header = { .error = error, .unique = unique };
	struct iovec iov[2] = { { &header, sizeof(header) },
				{ (void *)(uintptr_t)out, error ? 0 : sizeof(*out) } };

	header.len = (uint32_t)(iov[0].iov_len + iov[1].iov_len);
	if (writev(fd, iov, 2) < 0)
		return error_errno(err, "cannot answer INIT");
	return 0;
}

static uint64_t init_flags(const struct fuse_init_in *in)
{
	uint64_t flags = in->flags;

	if (flags & FUSE_INIT_EXT)
		flags |= (uint64_t)in->flags2 << 32;
	return flags;
}

static int init_check(const struct request *request, struct error *err)
{
	const struct fuse_init_in *in = &request->in.init;

	if (in->major != FUSE_KERNEL_VERSION || in->minor < 31)
		return error_set(err, -EPROTO,
				 "the kernel speaks FUSE %u.%u, expected 7.31 or newer: boot Linux 5.4 or newer, or "
				 "read the volume without a mount, by libdatasetfs",
				 in->major, in->minor);
	if (!(in->flags & FUSE_MAX_PAGES))
		return error_set(err, -EPROTO, "the kernel offers no FUSE requests above 128 KiB");
	return 0;
}

uint16_t init_max_pages(size_t page_size)
{
	return (uint16_t)(INIT_READ_MAX / page_size);
}

int init_negotiate(int fd, struct init_wishes wishes, struct init *ret, struct error *err)
{
	struct request request;
	struct fuse_init_out out = { 0 };
	uint64_t flags;
	int r;

	r = init_receive(fd, &request, err);
	if (r < 0)
		return r;
	r = init_check(&request, err);
	if (r < 0) {
		struct error ignored;

		init_reply(fd, request.unique, -EPROTO, NULL, &ignored);
		return r;
	}
	flags = init_flags(&request.in.init);
	ret->minor = request.in.init.minor;
	ret->offered = flags;
	ret->taken = flags & (init_wanted | (wishes.ring ? WIRE_OVER_IO_URING : 0) |
			      (wishes.idmap ? WIRE_ALLOW_IDMAP : 0));
	ret->resends = flags & WIRE_HAS_RESEND;
	ret->ring = ret->taken & WIRE_OVER_IO_URING;
	out.major = FUSE_KERNEL_VERSION;
	out.minor = request.in.init.minor < WIRE_MINOR ? request.in.init.minor : WIRE_MINOR;
	out.flags = (uint32_t)ret->taken;
	out.flags2 = (uint32_t)(ret->taken >> 32);
	out.max_readahead = UINT32_MAX; /* the kernel takes the smaller of this and its own */
	out.max_background = 1024;      /* the default of 12 is too few for read-ahead of many readers */
	out.congestion_threshold = 1024;
	out.max_write = INIT_WRITE_MIN; /* nothing is ever written */
	out.max_pages = init_max_pages((size_t)sysconf(_SC_PAGESIZE));
	out.time_gran = 1;
	return init_reply(fd, request.unique, 0, &out, err);
}

int init_raise_readahead(dev_t device, struct error *err)
{
	auto_close int fd = -1;
	char path[64], text[16];

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(device), minor(device));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, "cannot open '%s'", path);
	snprintf(text, sizeof(text), "%u", INIT_READAHEAD_KB);
	if (write(fd, text, strlen(text)) < 0)
		return error_errno(err, "cannot write '%s'", path);
	return 0;
}
