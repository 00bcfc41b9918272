/* SPDX-License-Identifier: MIT */
/* Goes through the inodes and looks at the modes of their classes. */
#include "layout/closed.h"

#include <sys/stat.h>

static bool closed_is(uint32_t mode)
{
	return (S_ISREG(mode) && !(mode & S_IROTH)) || (S_ISDIR(mode) && !(mode & S_IXOTH));
}

static uint32_t closed_mode(const struct records *records, uint64_t class)
{
	return dsfs_le32_get(((const struct dsfs_class *)records->classes.list.bytes)[class].mode);
}

static bool closed_any(const struct records *records)
{
	for (uint64_t i = 0; i < records->classes.list.length / sizeof(struct dsfs_class); i++)
		if (closed_is(closed_mode(records, i)))
			return true;
	return false;
}

struct closed closed_count(const struct records *records)
{
	uint64_t inodes = records->inodes.length / sizeof(struct dsfs_inode);
	struct closed closed = { 0 };

	if (!closed_any(records))
		return closed;
	for (uint64_t ordinal = INODE_ROOT; ordinal <= inodes; ordinal++) {
		uint32_t mode = closed_mode(records, dsfs_le32_get(records_inode(records, ordinal)->class));

		closed.all += !S_ISLNK(mode);
		closed.count += closed_is(mode);
		if (ordinal == INODE_ROOT && closed_is(mode))
			closed.root = mode & 07777;
	}
	return closed;
}
