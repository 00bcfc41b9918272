/* SPDX-License-Identifier: MIT */
/* Asks libblkid, and looks for superblocks. */
#include "volume/occupant.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "image/members/superblock.h"

#define OCCUPANT_ZEROS (1u << 20)

static void occupant_free_probe(blkid_probe *probe)
{
	blkid_free_probe(*probe);
}

/* Describes the contents that libblkid finds: "a filesystem or volume of type ext4". what is empty when it finds
 * nothing; it is an error when it cannot look. */
static int occupant_probe(const struct site *site, char *what, size_t size, struct error *err)
{
	cleanup(occupant_free_probe) blkid_probe probe = blkid_new_probe();
	auto_close int fd = -1; /* without O_DIRECT, as it reads at any offset */
	const char *type;
	int r;

	what[0] = 0;
	if (!probe || site_open(site, O_RDONLY, &fd, NULL) < 0 || blkid_probe_set_device(probe, fd, 0, 0) < 0)
		return error_set(err, -EIO, "cannot probe it for other content");
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE);
	blkid_probe_enable_partitions(probe, 1);
	while ((r = blkid_do_probe(probe)) == 0) {
		if (blkid_probe_lookup_value(probe, "TYPE", &type, NULL) == 0)
			snprintf(what, size, "a filesystem or volume of type %s", type);
		else if (blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL) == 0)
			snprintf(what, size, "a partition table of type %s", type);
		if (what[0])
			return 0;
	}
	return r < 0 ? error_set(err, -EIO, "cannot probe it for other content") : 0;
}

/* Whether a file has no data: it is empty, or made by truncate(1). */
static bool occupant_is_all_hole(const struct file_source *file)
{
	return lseek(file->fd, 0, SEEK_DATA) < 0 && errno == ENXIO;
}

int occupant_refuse_shared(const struct file_source *file, struct error *err)
{
	struct stat st;

	if (fstat(file->fd, &st) < 0)
		return error_errno(err, "fstat");
	return error_set(err, -EPERM,
			 "it belongs to user %u and has mode %04o, so others could read and change what root packs: "
			 "remove it, or replace it by root's own file, with mode 0600, by --force",
			 (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
}

int occupant_find(const struct site *site, struct file_source *file, struct occupant *ret, struct error *err)
{
	struct occupant occupant = { 0 };
	struct stat st;
	int r = superblock_seen(&file->source, 0, &occupant.is_volume, err);

	if (r == 0 && fstat(file->fd, &st) < 0)
		r = error_errno(err, "fstat");
	if (r < 0)
		return r;
	/* The mode also limits what an access control list grants. */
	occupant.is_shared = geteuid() == 0 && S_ISREG(st.st_mode) &&
			     (st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH));
	occupant.is_nothing = !file->geometry.is_block_device && occupant_is_all_hole(file);
	if (!occupant.is_nothing)
		r = occupant_probe(site, occupant.what, sizeof(occupant.what), err);
	/* An unreadable block does not turn a volume into something else. */
	if (r < 0 && !occupant.is_volume)
		return r;
	*ret = occupant;
	return 0;
}

static int occupant_write_zeros(struct file_source *file, uint64_t offset, struct error *err)
{
	auto_free uint8_t *zeros = aligned_alloc(DSFS_BLOCK, OCCUPANT_ZEROS);

	if (!zeros)
		return error_no_memory(err);
	memset(zeros, 0, OCCUPANT_ZEROS);
	return source_write(&file->source, 0, offset, zeros, OCCUPANT_ZEROS, err);
}

/* Overwrites former slots, which could be newer than ours, and signatures, which may be at both ends. */
int occupant_wipe(struct file_source *file, uint64_t capacity, bool at_both_ends, struct error *err)
{
	int r = occupant_write_zeros(file, 0, err);

	if (r == 0 && at_both_ends)
		r = occupant_write_zeros(file, round_down(capacity, DSFS_BLOCK) - OCCUPANT_ZEROS, err);
	return r;
}
