/* SPDX-License-Identifier: MIT */
/* Preloaded into a daemon: its first request (INIT) is that of an older kernel, and OLD_KERNEL says of which:
 *   4.15  speaks FUSE 7.26
 *   6.8   cannot send requests again */
#include <dlfcn.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESEND (1u << (39 - 32)) /* FUSE_HAS_RESEND in the second word of flags */

static void make_old(struct fuse_init_in *init)
{
	const char *kernel = getenv("OLD_KERNEL");

	if (kernel && !strcmp(kernel, "4.15"))
		init->minor = 26;
	else if (kernel && !strcmp(kernel, "6.8"))
		init->flags2 &= ~RESEND;
	else
		abort();
}

ssize_t read(int fd, void *buffer, size_t size)
{
	static ssize_t (*next)(int fd, void *buffer, size_t size);
	struct fuse_in_header *header = buffer;
	ssize_t n;

	if (!next)
		next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	n = next(fd, buffer, size);
	if (n >= (ssize_t)(sizeof(*header) + offsetof(struct fuse_init_in, unused)) && header->len == n &&
	    header->opcode == FUSE_INIT)
		make_old((struct fuse_init_in *)(header + 1));
	return n;
}
