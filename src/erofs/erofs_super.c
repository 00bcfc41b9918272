/* SPDX-License-Identifier: MIT */
/* Numbers the blocks of the image and the members, and writes the superblock and the table of devices. */
#include "erofs/erofs_super.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc.h"
#include "base/round.h"
#include "base/text/format.h"
#include "erofs/erofs_format.h"
#include "erofs/erofs_sink.h"

#define SUPER_IMAGE_MOST (UINT64_C(1) << 28) /* block numbers reserved for the image: 1 TiB */
#define SUPER_DEVICES_AT (EROFS_SUPER_AT + sizeof(struct erofs_super))
_Static_assert(SUPER_DEVICES_AT % sizeof(struct erofs_device) == 0, "the table of devices is found by its slots");

static uint64_t super_blocks(const struct index *index, uint32_t member)
{
	return index->member_sizes[member] / EROFS_BLOCK;
}

void erofs_super_choose(const struct index *index, struct erofs_geometry *geometry)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < index->member_count; i++) {
		sum += super_blocks(index, i);
		geometry->is_48bit |= super_blocks(index, i) >= EROFS_BLOCKS_32;
	}
	geometry->is_indexed = sum > EROFS_BLOCKS_32 - SUPER_IMAGE_MOST;
}

uint64_t erofs_super_bytes(const struct index *index)
{
	return round_up(SUPER_DEVICES_AT + index->member_count * sizeof(struct erofs_device), EROFS_BLOCK);
}

int erofs_super_number(const struct index *index, struct erofs_geometry *geometry, struct error *err)
{
	uint64_t next = geometry->blocks;

	if (geometry->blocks > SUPER_IMAGE_MOST)
		return error_set(err, -EFBIG, "the image would have %" PRIu64 " blocks of %u bytes, at most %" PRIu64
					      " are possible",
				 geometry->blocks, EROFS_BLOCK, SUPER_IMAGE_MOST);
	for (uint32_t i = 0; !geometry->is_indexed && i < index->member_count; i++) {
		geometry->starts[i] = next;
		next += super_blocks(index, i);
	}
	return 0;
}

static void super_encode(const struct index *index, const struct version *version,
			 const struct erofs_geometry *geometry, struct erofs_super *disk)
{
	uint32_t incompat = EROFS_INCOMPAT_CHUNKED | EROFS_INCOMPAT_DEVICES |
			    (geometry->is_48bit ? EROFS_INCOMPAT_48BIT : 0);

	disk->magic = dsfs_le32_of(EROFS_MAGIC);
	disk->feature_compat = dsfs_le32_of(EROFS_COMPAT_SB_CHKSUM | EROFS_COMPAT_MTIME);
	disk->feature_incompat = dsfs_le32_of(incompat);
	disk->block_log = EROFS_BLOCK_LOG;
	if (geometry->is_48bit)
		disk->root_nid_48 = dsfs_le64_of(geometry->root_nid);
	else
		disk->root_nid = dsfs_le16_of((uint16_t)geometry->root_nid);
	disk->inode_count = dsfs_le64_of(index->shape.inode_count);
	disk->epoch = dsfs_le64_of(version->created);
	disk->blocks = dsfs_le32_of((uint32_t)geometry->blocks);
	disk->xattr_block = dsfs_le32_of((uint32_t)geometry->xattr_block);
	memcpy(disk->uuid, version->uuid, sizeof(disk->uuid));
	memcpy(disk->name, version->label, strnlen(version->label, sizeof(disk->name) - 1));
	disk->device_count = dsfs_le16_of((uint16_t)index->member_count);
	disk->device_slot = dsfs_le16_of(SUPER_DEVICES_AT / sizeof(struct erofs_device));
}

static void super_encode_device(const struct index *index, const struct erofs_geometry *geometry, uint32_t member,
				struct erofs_device *disk)
{
	uint64_t blocks = super_blocks(index, member);
	char uuid[UUID_TEXT_SIZE] = "";

	if (index->members.count)
		format_uuid(index->members.list[member].uuid, uuid);
	snprintf((char *)disk->tag, sizeof(disk->tag), "datasetfs member %u %s", member, uuid);
	disk->blocks = dsfs_le32_of((uint32_t)blocks);
	disk->blocks_hi = dsfs_le32_of(geometry->is_48bit ? (uint32_t)(blocks >> 32) : 0);
	disk->start = dsfs_le32_of((uint32_t)geometry->starts[member]);
}

int erofs_super_write(const struct index *index, const struct version *version,
		      const struct erofs_geometry *geometry, int fd, struct error *err)
{
	uint64_t length = erofs_super_bytes(index);
	auto_free uint8_t *bytes = calloc(1, length);
	struct erofs_device *devices = (struct erofs_device *)(void *)(bytes + SUPER_DEVICES_AT);
	struct erofs_super *super = (struct erofs_super *)(void *)(bytes + EROFS_SUPER_AT);
	struct erofs_sink sink;
	int r;

	if (!bytes)
		return error_no_memory(err);
	super_encode(index, version, geometry, super);
	for (uint32_t i = 0; i < index->member_count; i++)
		super_encode_device(index, geometry, i, &devices[i]);
	super->checksum = dsfs_le32_of(crc_sum(CRC_32C, bytes + EROFS_SUPER_AT, EROFS_BLOCK - EROFS_SUPER_AT));
	r = erofs_sink_open(fd, 0, &sink, err);
	if (r == 0)
		r = erofs_sink_put(&sink, bytes, length, err);
	if (r == 0)
		r = erofs_sink_flush(&sink, err);
	erofs_sink_close(&sink);
	return r;
}

int erofs_super_read_uuid(int fd, uint8_t ret[16], struct error *err)
{
	struct erofs_super disk;
	ssize_t n = pread(fd, &disk, sizeof(disk), EROFS_SUPER_AT);

	if (n < 0)
		return error_errno(err, "cannot read the image");
	if (n != sizeof(disk) || dsfs_le32_get(disk.magic) != EROFS_MAGIC)
		return error_set(err, -EINVAL, "the image is not an EROFS");
	memcpy(ret, disk.uuid, sizeof(disk.uuid));
	return 0;
}
