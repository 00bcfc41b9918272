/* SPDX-License-Identifier: MIT */
/* Knows the filesystems whose ctimes no program sets. Images (SquashFS, EROFS) and FUSE show what their makers wrote;
 * FAT and overlays have none of their own. */
#include "source/filesystem.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include "base/mountinfo.h"

/* Where a filesystem has its name, which must differ from that of any other at the same place. */
enum filesystem_name {
	FILESYSTEM_FSID,     /* statfs() makes it of a UUID or GUID */
	FILESYSTEM_GEOMETRY, /* XFS makes its f_fsid of the number of the device, which the next disk may get */
	FILESYSTEM_SOURCE,   /* a server and a share, as the table of mounts shows it */
};

struct filesystem_kind {
	uint32_t magic; /* f_type of statfs(2) */
	enum filesystem_name name;
	bool has_fine_ctimes;
};

static const struct filesystem_kind filesystem_kinds[] = {
	{ 0xef53, FILESYSTEM_FSID, true },         /* ext4 */
	{ 0x58465342, FILESYSTEM_GEOMETRY, true }, /* XFS */
	{ 0x9123683e, FILESYSTEM_FSID, true },     /* Btrfs, with the subvolume in it */
	{ 0xca451a4e, FILESYSTEM_FSID, true },     /* bcachefs */
	{ 0x2fc12fc1, FILESYSTEM_FSID, true },     /* ZFS */
	{ 0x01021994, FILESYSTEM_FSID, true },     /* tmpfs */
	{ 0x6969, FILESYSTEM_SOURCE, false },      /* NFS */
	{ 0x0bd00bd0, FILESYSTEM_SOURCE, false },  /* Lustre */
	{ 0x47504653, FILESYSTEM_SOURCE, false },  /* Storage Scale (GPFS) */
	{ 0x19830326, FILESYSTEM_SOURCE, false },  /* BeeGFS */
	{ 0x00c36400, FILESYSTEM_SOURCE, false },  /* CephFS */
};

/* struct xfs_fsop_geom_v1 of <xfs/xfs_fs.h>, which every XFS answers. */
struct filesystem_geometry {
	uint8_t before[64];
	uint8_t uuid[16];
	uint8_t after[32];
};

#define FILESYSTEM_XFS_GEOMETRY _IOR('X', 100, struct filesystem_geometry)

static const struct filesystem_kind *filesystem_kind_of(uint64_t magic)
{
	for (size_t i = 0; i < sizeof(filesystem_kinds) / sizeof(filesystem_kinds[0]); i++)
		if (filesystem_kinds[i].magic == magic)
			return &filesystem_kinds[i];
	return NULL;
}

/* Everything that identifies a filesystem; unused bytes are zero. */
struct filesystem_names {
	uint64_t magic;
	uint64_t fsid;
	uint8_t uuid[16];
	char source[1024];
};

struct filesystem_mount {
	struct filesystem *filesystem;
	struct filesystem_names *names;
};

static int filesystem_visit(void *argument, const struct mountinfo *info, struct error *err)
{
	const struct filesystem_mount *mount = argument;

	(void)err;
	if (info->device != mount->filesystem->device)
		return 0;
	strncpy(mount->filesystem->type, info->type, FILESYSTEM_TYPE_SIZE - 1);
	if (strlen(info->source) < sizeof(mount->names->source))
		strcpy(mount->names->source, info->source);
	return 1;
}

/* Fills in the name. Returns false if there is none. */
static bool filesystem_name(int fd, enum filesystem_name name, const struct statfs *st, struct filesystem_names *names)
{
	struct filesystem_geometry geometry;

	if (name == FILESYSTEM_SOURCE)
		return *names->source;
	memset(names->source, 0, sizeof(names->source)); /* /dev/sdb may be /dev/sdc tomorrow */
	if (name == FILESYSTEM_FSID) {
		memcpy(&names->fsid, &st->f_fsid, sizeof(names->fsid));
		return names->fsid;
	}
	if (ioctl(fd, FILESYSTEM_XFS_GEOMETRY, &geometry) < 0)
		return false;
	memcpy(names->uuid, geometry.uuid, sizeof(names->uuid));
	return true;
}

void filesystem_find(int fd, uint64_t device, struct filesystem *ret)
{
	struct filesystem_names names = { 0 };
	struct filesystem_mount mount = { ret, &names };
	const struct filesystem_kind *kind;
	struct statfs st;

	*ret = (struct filesystem){ .device = device };
	if (mountinfo_each(filesystem_visit, &mount, NULL) < 0 || fstatfs(fd, &st) < 0)
		return;
	kind = filesystem_kind_of((uint32_t)st.f_type);
	if (!kind || !filesystem_name(fd, kind->name, &st, &names))
		return;
	names.magic = kind->magic;
	ret->has_fine_ctimes = kind->has_fine_ctimes;
	ret->keeps_ctimes = sha256_of(&names, sizeof(names), ret->identity, NULL) == 0;
}
