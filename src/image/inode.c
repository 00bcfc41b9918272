/* SPDX-License-Identifier: MIT */
/* Inodes and attribute classes: decodes them with every bound checked, encodes them for the packer. */
#include "image/inode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image/xattr.h"

#define NSEC_BITS  30u
#define TIME_BIAS  INT64_C(2147483648)
#define NSEC_COUNT 1000000000u

static int inode_check_type(const struct inode *inode, const struct index *index, struct error *err)
{
	switch (inode->mode & ~07777u) {
	case S_IFDIR:
		if (inode->size <= index->shape.entry_count && inode->where >= INODE_ROOT &&
		    inode->where <= index->shape.inode_count)
			return 0;
		break;
	case S_IFREG:
		if (inode->size <= DSFS_FILE_MAX && inode->where <= index->shape.chunk_count &&
		    inode_record_count(index, inode) <= index->shape.chunk_count - inode->where)
			return 0;
		break;
	case S_IFLNK:
		if (inode->size >= 1 && inode->size <= DSFS_LINK_MAX && span_at(index->blob, inode->where, inode->size))
			return 0;
		break;
	default:
		break;
	}
	return error_set(err, -EBADMSG, "inode %" PRIu64 ": impossible mode=%#o size=%" PRIu64 " where=%" PRIu64,
			 inode->ordinal, inode->mode, inode->size, inode->where);
}

static int inode_decode_class(const struct index *index, uint32_t class, struct inode *inode, struct error *err)
{
	const struct dsfs_class *disk =
		span_at(index->classes, (uint64_t)class * sizeof(*disk), sizeof(*disk));

	if (!disk)
		return error_set(err, -EBADMSG, "inode %" PRIu64 ": class %" PRIu32 " of %" PRIu64, inode->ordinal,
				 class, index->shape.class_count);
	inode->mode = dsfs_le32_get(disk->mode);
	inode->uid = dsfs_le32_get(disk->uid);
	inode->gid = dsfs_le32_get(disk->gid);
	inode->xattrs = dsfs_le64_get(disk->xattrs);
	return 0;
}

/* Opens the file's list of holes; its head follows the records of the other chunks. */
static int inode_open_holes(const struct index *index, struct inode *inode, struct error *err)
{
	uint64_t head = inode->where & ~DSFS_WHERE_HOLES, chunks = inode_chunk_count(index, inode);

	if (!hole_list_open(index, head, chunks, &inode->holes) || !inode->sparse || inode->size <= DSFS_SHARED_MAX ||
	    inode->size > DSFS_FILE_MAX)
		return error_set(err, -EBADMSG,
				 "inode %" PRIu64 ": impossible list of %" PRIu64 " holes at %" PRIu64
				 ", size=%" PRIu64,
				 inode->ordinal, inode->holes.count, head, inode->size);
	inode->where = head - (chunks - inode->holes.chunks);
	return 0;
}

static const struct dsfs_inode *inode_disk(const struct index *index, uint64_t ordinal)
{
	const struct dsfs_inode *disk;

	return ordinal && ordinal <= index->shape.inode_count ?
		       span_at(index->inodes, (ordinal - 1) * sizeof(*disk), sizeof(*disk)) :
		       NULL;
}

int inode_get(const struct index *index, uint64_t ordinal, struct inode *ret, struct error *err)
{
	const struct dsfs_inode *disk = inode_disk(index, ordinal);
	struct inode inode = { .ordinal = ordinal };
	uint64_t time, where;
	int r;

	if (!disk)
		return error_set(err, -EBADMSG, "inode %" PRIu64 " of %" PRIu64 " does not exist", ordinal,
				 index->shape.inode_count);
	time = dsfs_le64_get(disk->mtime);
	where = dsfs_le64_get(disk->where);
	inode.mtime = (int64_t)(time >> NSEC_BITS) - TIME_BIAS;
	inode.mtime_nsec = (uint32_t)(time & ((UINT64_C(1) << NSEC_BITS) - 1));
	inode.size = dsfs_le64_get(disk->size);
	inode.sparse = where & DSFS_WHERE_SPARSE;
	inode.where = where & ~DSFS_WHERE_SPARSE;
	inode.nlink = dsfs_le32_get(disk->nlink);
	if (inode.mtime_nsec >= NSEC_COUNT)
		return error_set(err, -EBADMSG, "inode %" PRIu64 ": %" PRIu32 " nanoseconds", ordinal,
				 inode.mtime_nsec);
	r = inode_decode_class(index, dsfs_le32_get(disk->class), &inode, err);
	if (r == 0 && index->has_lists && inode.where & DSFS_WHERE_HOLES && S_ISREG(inode.mode))
		r = inode_open_holes(index, &inode, err);
	if (r < 0)
		return r;
	r = inode_check_type(&inode, index, err);
	if (r < 0)
		return r;
	*ret = inode;
	return 0;
}

void inode_expect(const struct index *index, uint64_t ordinal)
{
	__builtin_prefetch(inode_disk(index, ordinal));
}

void inode_expect_chunk(const struct index *index, uint64_t ordinal)
{
	const struct dsfs_inode *disk = inode_disk(index, ordinal);
	uint64_t where = disk ? dsfs_le64_get(disk->where) & ~DSFS_WHERE_SPARSE : 0;

	__builtin_prefetch(index_record(index, where));
}

uint64_t inode_chunk_count(const struct index *index, const struct inode *inode)
{
	return (inode->size >> index->chunk_log) +
	       ((inode->size & ((UINT64_C(1) << index->chunk_log) - 1)) != 0);
}

uint64_t inode_record_count(const struct index *index, const struct inode *inode)
{
	return inode_chunk_count(index, inode) - inode->holes.chunks;
}

int inode_link_target(const struct index *index, const struct inode *inode, struct span *ret, struct error *err)
{
	const uint8_t *target = span_at(index->blob, inode->where, inode->size);

	if (!S_ISLNK(inode->mode) || !target)
		return error_set(err, -EINVAL, "inode %" PRIu64 " is not a symlink", inode->ordinal);
	if (memchr(target, 0, inode->size))
		return error_set(err, -EBADMSG, "inode %" PRIu64 ": NUL in the symlink's target", inode->ordinal);
	*ret = (struct span){ target, inode->size };
	return 0;
}

uint32_t inode_io_size(const struct inode *inode, uint32_t largest)
{
	uint32_t size = DSFS_BLOCK;

	if (!S_ISREG(inode->mode) || inode->size > largest)
		return DSFS_BLOCK;
	while (size < inode->size)
		size *= 2;
	return size;
}

int inode_xattrs(const struct index *index, const struct inode *inode,
		 int (*each)(void *argument, struct span name, struct span value), void *argument, struct error *err)
{
	return inode->xattrs ? xattr_each(index->blob, inode->xattrs - 1, each, argument, err) : 0;
}

struct inode_search {
	uint64_t ordinal;
	uint64_t directory;
	char name[DSFS_NAME_MAX + 1];
};

static int inode_path_match(void *argument, uint64_t directory, const struct names_entry *entry)
{
	struct inode_search *search = argument;

	if (entry->ordinal != search->ordinal)
		return 0;
	search->directory = directory;
	memcpy(search->name, entry->name, entry->name_length);
	search->name[entry->name_length] = 0;
	return 1;
}

static int inode_path_match_child(void *argument, const struct names_entry *entry)
{
	const struct inode_search *search = argument;

	return inode_path_match(argument, search->directory, entry);
}

/* Finds the first name of search->ordinal. A directory names its parent; for anything else all entries are searched. */
static bool inode_path_find(const struct index *index, struct inode_search *search)
{
	struct inode inode;

	if (inode_get(index, search->ordinal, &inode, NULL) < 0)
		return false;
	if (!S_ISDIR(inode.mode))
		return names_walk(index->names, inode_path_match, search) == 1;
	search->directory = inode.where;
	return names_list(index->names, inode.where, 0, inode_path_match_child, search) == 1;
}

void inode_path(const struct index *index, uint64_t ordinal, char *path, size_t size)
{
	struct inode_search search = { .ordinal = ordinal };
	size_t used = 0, length;

	path[0] = 0;
	if (ordinal == INODE_ROOT)
		snprintf(path, size, "/");
	for (; search.ordinal != INODE_ROOT; search.ordinal = search.directory) {
		if (!inode_path_find(index, &search)) {
			snprintf(path, size, "inode %" PRIu64, ordinal);
			return;
		}
		length = strlen(search.name) + 1;
		if (used + length + 1 > size) /* keep the end of a very long path: it says most */
			return;
		memmove(path + length, path, used + 1);
		path[0] = '/';
		memcpy(path + 1, search.name, length - 1);
		used += length;
	}
}

void inode_encode(const struct inode *inode, uint32_t class, struct dsfs_inode *disk)
{
	disk->mtime = dsfs_le64_of((uint64_t)(inode->mtime + TIME_BIAS) << NSEC_BITS | inode->mtime_nsec);
	disk->size = dsfs_le64_of(inode->size);
	disk->where = dsfs_le64_of(inode->where | (inode->sparse ? DSFS_WHERE_SPARSE : 0));
	disk->class = dsfs_le32_of(class);
	disk->nlink = dsfs_le32_of(inode->nlink);
}
