/* SPDX-License-Identifier: MIT */
/* The ABI that programs compiled with an earlier datasetfs.h rely on: sizes and offsets of fields, and numbers. */
#include <stddef.h>
#include <stdio.h>

#include "datasetfs/datasetfs.h"

#define STRUCT(type)       printf("struct %s %zu\n", #type, sizeof(struct type))
#define FIELD(type, field) \
	printf("struct %s.%s %zu %zu\n", #type, #field, offsetof(struct type, field), sizeof(((struct type *)0)->field))
#define NUMBER(name)       printf("%s %u\n", #name, (unsigned)name)

static void print_handles(void)
{
	STRUCT(dsfs_options);
	FIELD(dsfs_options, size);
	FIELD(dsfs_options, flags);
	FIELD(dsfs_options, version);
	FIELD(dsfs_options, digest);
	FIELD(dsfs_options, trust);
	FIELD(dsfs_options, revoked);
	STRUCT(dsfs_info);
	FIELD(dsfs_info, size);
	FIELD(dsfs_info, way);
	FIELD(dsfs_info, label);
	FIELD(dsfs_info, uuid);
	FIELD(dsfs_info, digest);
	FIELD(dsfs_info, sequence);
	FIELD(dsfs_info, files);
	FIELD(dsfs_info, bytes);
	FIELD(dsfs_info, root);
	FIELD(dsfs_info, ids);
	FIELD(dsfs_info, why);
	FIELD(dsfs_info, order);
	FIELD(dsfs_info, reserved);
	STRUCT(dsfs_version_info);
	FIELD(dsfs_version_info, sequence);
	FIELD(dsfs_version_info, label);
	FIELD(dsfs_version_info, uuid);
	FIELD(dsfs_version_info, is_current);
}

static void print_files(void)
{
	STRUCT(dsfs_dirent);
	FIELD(dsfs_dirent, id);
	FIELD(dsfs_dirent, type);
	FIELD(dsfs_dirent, length);
	FIELD(dsfs_dirent, name);
	FIELD(dsfs_dirent, path);
	STRUCT(dsfs_read);
	FIELD(dsfs_read, id);
	FIELD(dsfs_read, offset);
	FIELD(dsfs_read, size);
	FIELD(dsfs_read, buffer);
	FIELD(dsfs_read, result);
	FIELD(dsfs_read, user);
	STRUCT(dsfs_file_extent);
	FIELD(dsfs_file_extent, file_offset);
	FIELD(dsfs_file_extent, length);
	FIELD(dsfs_file_extent, offset);
	FIELD(dsfs_file_extent, stored);
	FIELD(dsfs_file_extent, member);
	FIELD(dsfs_file_extent, codec);
	FIELD(dsfs_file_extent, flags);
	FIELD(dsfs_file_extent, sum_kind);
	FIELD(dsfs_file_extent, sum);
}

static void print_shuffles(void)
{
	STRUCT(dsfs_shuffle_options);
	FIELD(dsfs_shuffle_options, size);
	FIELD(dsfs_shuffle_options, reserved);
	FIELD(dsfs_shuffle_options, key);
	FIELD(dsfs_shuffle_options, count);
	FIELD(dsfs_shuffle_options, block);
	FIELD(dsfs_shuffle_options, buffer);
	STRUCT(dsfs_shuffle_deal);
	FIELD(dsfs_shuffle_deal, size);
	FIELD(dsfs_shuffle_deal, drop_last);
	FIELD(dsfs_shuffle_deal, rank);
	FIELD(dsfs_shuffle_deal, ranks);
	FIELD(dsfs_shuffle_deal, workers);
	FIELD(dsfs_shuffle_deal, batch);
	STRUCT(dsfs_shuffle_windows);
	FIELD(dsfs_shuffle_windows, first);
	FIELD(dsfs_shuffle_windows, count);
}

int main(void)
{
	print_handles();
	print_files();
	print_shuffles();
	NUMBER(DSFS_OPEN_DIRECT);
	NUMBER(DSFS_OPEN_MOUNT);
	NUMBER(DSFS_WAY_VOLUME);
	NUMBER(DSFS_WAY_DIRECT);
	NUMBER(DSFS_WAY_MOUNT);
	NUMBER(DSFS_EXTENT_HOLE);
	NUMBER(DSFS_EXTENT_INLINE);
	return 0;
}
