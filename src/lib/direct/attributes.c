/* SPDX-License-Identifier: MIT */
/* Shows the attributes that the daemon gives the kernel, see serve/request/node.c, as the kernel shows them. */
#include "lib/direct/attributes.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "image/extent.h"
#include "image/inode.h"
#include "lib/direct/direct.h"
#include "read/op.h"

/* The root has number 1 in every version, so that a mountpoint stays the same when the mount switches. */
static ino_t attributes_number(const struct direct *direct, const struct inode *inode)
{
	return inode->ordinal == INODE_ROOT ? INODE_ROOT : direct_id(direct, inode->ordinal);
}

int attributes_stat(struct opened *opened, uint64_t id, struct stat *ret, struct error *err)
{
	const struct direct *direct = (const struct direct *)opened;
	struct timespec time;
	struct inode inode;
	int r = inode_get(direct->version.index, direct_ordinal(direct, id), &inode, err);

	if (r < 0)
		return r;
	time = (struct timespec){ .tv_sec = inode.mtime, .tv_nsec = inode.mtime_nsec };
	*ret = (struct stat){
		.st_ino = attributes_number(direct, &inode),
		.st_mode = inode.mode & ~direct->version.hidden_mode,
		.st_nlink = inode.nlink,
		.st_uid = inode.uid,
		.st_gid = inode.gid,
		.st_size = (off_t)inode.size,
		.st_blksize = inode_io_size(&inode, READ_MAX),
		.st_blocks = (blkcnt_t)extent_blocks(direct->version.index, &inode),
		.st_atim = time,
		.st_mtim = time,
		.st_ctim = time,
	};
	return 0;
}

int attributes_readlink(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err)
{
	const struct direct *direct = (const struct direct *)opened;
	struct inode inode;
	struct span target;
	int r = inode_get(direct->version.index, direct_ordinal(direct, id), &inode, err);

	if (r == 0)
		r = inode_link_target(direct->version.index, &inode, &target, err);
	if (r < 0)
		return r;
	if (target.size >= size)
		return error_set(err, -ERANGE, "the target takes %" PRIu64 " bytes, the buffer has %zu",
				 target.size + 1, size);
	memcpy(buffer, target.base, target.size);
	buffer[target.size] = 0;
	return (int)target.size;
}
