/* SPDX-License-Identifier: MIT */
/* Preloaded into a daemon: its first request (INIT) is that of a kernel which cannot send requests again, as those
 * before Linux 6.9. */
#include <dlfcn.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <unistd.h>

#define RESEND (1u << (39 - 32)) /* FUSE_HAS_RESEND in the second word of flags */

ssize_t read(int fd, void *buffer, size_t size)
{
	static ssize_t (*next)(int fd, void *buffer, size_t size);
	struct fuse_in_header *header = buffer;
	struct fuse_init_in *init = (struct fuse_init_in *)(header + 1);
	ssize_t n;

	if (!next)
		next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	n = next(fd, buffer, size);
	if (n >= (ssize_t)(sizeof(*header) + offsetof(struct fuse_init_in, unused)) && header->len == n &&
	    header->opcode == FUSE_INIT)
		init->flags2 &= ~RESEND;
	return n;
}
