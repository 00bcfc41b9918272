/* SPDX-License-Identifier: MIT */
/* Grows two arrays with the files. At the end the second and the origin are appended to the first. */
#include "content/stat_cache_writer.h"

#include <stddef.h>
#include <string.h>

#include "base/round.h"
#include "datasetfs/format.h"

int stat_cache_writer_open(struct stat_cache_writer *writer, const struct temp *temp, bool all_xattrs,
			   int64_t settled, struct error *err)
{
	int r;

	*writer = (struct stat_cache_writer){ .enabled = true, .all_xattrs = all_xattrs, .settled = settled };
	r = mapped_open(&writer->inodes, temp, err);
	return r < 0 ? r : mapped_open(&writer->ctimes, temp, err);
}

void stat_cache_writer_close(struct stat_cache_writer *writer)
{
	mapped_close(&writer->inodes);
	mapped_close(&writer->ctimes);
}

int stat_cache_writer_add(struct stat_cache_writer *writer, uint64_t ordinal, const struct attributes *attributes,
			  struct error *err)
{
	int r;

	if (!writer->enabled)
		return 0;
	if (!writer->device)
		writer->device = attributes->device;
	if (writer->device != attributes->device)
		return 0;
	r = mapped_grow(&writer->inodes, ordinal * sizeof(dsfs_le64), err);
	if (r == 0)
		r = mapped_grow(&writer->ctimes, ordinal * sizeof(dsfs_le64), err);
	if (r < 0)
		return r;
	((dsfs_le64 *)writer->inodes.bytes)[ordinal - 1] = dsfs_le64_of(attributes->inode);
	if (attributes->ctime < writer->settled)
		((dsfs_le64 *)writer->ctimes.bytes)[ordinal - 1] = dsfs_le64_of(attributes_ctime_ns(attributes));
	return 0;
}

static int stat_cache_writer_add_origin(struct stat_cache_writer *writer, const struct filesystem *filesystem,
					struct error *err)
{
	struct dsfs_source origin = { .all_xattrs = dsfs_le64_of(writer->all_xattrs) };

	memcpy(origin.filesystem, filesystem->identity, sizeof(origin.filesystem));
	return mapped_append(&writer->inodes, &origin, sizeof(origin), NULL, err);
}

int stat_cache_writer_end(struct stat_cache_writer *writer, uint64_t inode_count, const struct filesystem *filesystem,
			  const struct mapped **ret, struct error *err)
{
	struct mapped *section = &writer->inodes;
	const struct mapped *ctimes = &writer->ctimes;
	uint64_t ctimes_at = inode_count * sizeof(dsfs_le64);
	int r;

	*ret = section;
	if (!filesystem->keeps_ctimes)
		mapped_close(section);
	if (!section->length)
		return 0;
	r = mapped_grow(section, ctimes_at, err);
	if (r == 0)
		r = mapped_append(section, ctimes->bytes, ctimes->length, NULL, err);
	if (r == 0)
		r = mapped_grow(section, 2 * ctimes_at, err);
	if (r == 0)
		r = stat_cache_writer_add_origin(writer, filesystem, err);
	return r < 0 ? r : mapped_grow(section, round_up(section->length, DSFS_BLOCK), err);
}
