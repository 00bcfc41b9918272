/* SPDX-License-Identifier: MIT */
/* Loads a version, builds its EROFS in memory, and makes the image and members that are files loop devices, which
 * disappear with the mount. */
#include "kernelmount/built.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "assembly/naming.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/headroom.h"
#include "base/text/format.h"
#include "device/activity.h"
#include "device/locate.h"
#include "device/locker.h"
#include "device/occupied.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "kernelmount/fsmount.h"

#define BUILT_READAHEAD 1024 /* KiB, as on FUSE mounts */

void built_close(struct built *built)
{
	uint32_t count = built->assembly.array ? built->assembly.array->count : 0;

	close_fd(&built->tree);
	loop_close(&built->loop);
	for (uint32_t i = 0; i < count; i++) {
		if (built->loops)
			loop_close(&built->loops[i]);
		if (built->paths)
			free(built->paths[i]);
	}
	free(built->loops);
	free(built->paths);
	close_fd(&built->memory);
	erofs_image_free(built->image);
	if (built->index)
		index_close(built->index);
	catalogue_free(&built->catalogue);
	assembly_close(&built->assembly);
}

int built_open(struct built *built, struct error *err)
{
	int r = geteuid() == 0 ? 0 : error_set(err, -EPERM, "only root may mount by the kernel");

	if (r == 0)
		r = assembly_open(built->options->volume, FILE_WAITS, &built->assembly, err);
	return r < 0 ? r : catalogue_load(&built->assembly.array->source, built->assembly.rings, &built->super,
						&built->catalogue, err);
}

int built_choose(struct built *built, struct error *err)
{
	const struct mount_options *options = built->options;

	if (options->version)
		return catalogue_select(&built->catalogue, options->version, &built->version, err);
	if (options->has_digest)
		return catalogue_select_digest(&built->catalogue, options->digest, options->volume, &built->version,
					       err);
	built->version = catalogue_current(&built->catalogue);
	return built->version ? 0 :
		       error_set(err, -ENOENT, "the volume has no current version, choose one with version=");
}

int built_trust(struct built *built, struct error *err)
{
	return trust_check(&built->options->trust, built->version, built->super.volume_uuid, &built->signer, err);
}

/* Proves names and attributes, which the image in memory has; contents are read by the kernel later. */
static int built_check_signed(struct built *built, struct error *err)
{
	int r;

	if (!built->options->trust.signers)
		return 0;
	r = dump_check_digest(built->index, built->version, built->version->digest, NULL, err);
	if (r == 0)
		log_warn("version '%s' is signed by '%s', but the kernel verifies nothing that it reads: only names, "
			 "sizes and attributes are what was signed", built->version->label, built->signer.name);
	return r;
}

int built_load(struct built *built, struct error *err)
{
	struct source *source = &built->assembly.array->source;
	int r = index_load(backing_of(source, &built->catalogue.members), built->version, &built->index, err);

	if (r == 0)
		r = built_check_signed(built, err);
	if (r == 0 && built->options->has_digest)
		r = dump_check_digest(built->index, built->version, built->options->digest, &built->catalogue, err);
	return r < 0 ? r : erofs_image_plan(built->assembly.array, built->version, built->index, built->options->suid,
					    &built->image, err);
}

static int built_write_image(struct built *built, struct error *err)
{
	int r = headroom_check(erofs_image_sizes(built->image).bytes, 0, err);
	char name[OCCUPIED_NAME_SIZE];
	auto_free char *path = NULL;

	if (r == 0) /* any member's name identifies the volume */
		r = locate_path(built->assembly.names[0], &path, err);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%s %s %s", OCCUPIED_IMAGE, built->version->label, path);
	built->memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (built->memory < 0)
		return error_errno(err, "no memory for the image");
	r = erofs_image_write(built->image, built->memory, err);
	if (r == 0 && fcntl(built->memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = error_errno(err, "cannot seal the image");
	return r;
}

/* The kernel opens a block device by its path, which must still lead to the device that was checked. */
static int built_member_device(struct built *built, uint32_t i, const struct stat *checked, struct error *err)
{
	struct stat st;

	if (stat(built->paths[i], &st) < 0)
		return error_errno(err, "'%s'", built->paths[i]);
	if (!S_ISBLK(st.st_mode) || st.st_rdev != checked->st_rdev)
		return error_set(err, -ESTALE, "'%s' is another device by now", built->paths[i]);
	return 0;
}

static int built_refuse_locked(const char *path, int fd, struct error *err)
{
	char who[LOCKER_TEXT_SIZE] = "";

	if (file_use(fd) == FILE_USE_WRITTEN)
		return error_set(err, -EBUSY, "'%s' is being changed, mount it when that is done", path);
	(void)locker_find(fd, who);
	return error_set(err, -EBUSY, "another program has '%s' locked, mount it when that has ended%s%s", path,
			 who[0] ? ": " : "", who);
}

static int built_member(struct built *built, uint32_t i, struct error *err)
{
	int fd = built->assembly.array->fds[i];
	struct stat st;
	int r = locate_path(built->assembly.names[i], &built->paths[i], err);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", built->paths[i]);
	if (S_ISBLK(st.st_mode))
		return built_member_device(built, i, &st, err);
	/* The lock belongs to the open file, which the loop device keeps open: no publisher changes the volume while
	 * it is mounted. A device needs no lock, because the kernel opens it exclusively. */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return built_refuse_locked(built->paths[i], fd, err);
	r = loop_set_up(fd, built->paths[i], true, &built->loops[i], err);
	if (r < 0)
		return r;
	free(built->paths[i]);
	built->paths[i] = strdup(built->loops[i].path);
	return built->paths[i] ? 0 : error_no_memory(err);
}

static int built_members(struct built *built, struct error *err)
{
	uint32_t count = built->assembly.array->count;
	int r = 0;

	built->loops = calloc(count, sizeof(*built->loops));
	built->paths = calloc(count, sizeof(*built->paths));
	if (!built->paths || !built->loops)
		return error_no_memory(err);
	for (uint32_t i = 0; i < count; i++)
		built->loops[i] = LOOP_NONE;
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = built_member(built, i, err);
	return r;
}

/* The version may have been removed or moved before the kernel held the members. */
static int built_check_again(struct built *built, struct error *err)
{
	const struct version *version = built->version;
	struct catalogue catalogue = { 0 };
	struct superblock super;
	bool is_there;
	int r = catalogue_load(&built->assembly.array->source, NULL, &super, &catalogue, err);

	if (r < 0)
		return r;
	is_there = catalogue_holds(&catalogue, version->sequence, version->uuid);
	catalogue_free(&catalogue);
	return is_there ? 0 : error_set(err, -ESTALE, "version '%s' was removed or moved meanwhile, mount again",
					version->label);
}

int built_image(struct built *built, struct error *err)
{
	struct error why = { 0 };
	int r = built_write_image(built, err);

	if (r == 0)
		r = loop_set_up(built->memory, OCCUPIED_IMAGE, false, &built->loop, err);
	if (r == 0 && loop_set_readahead(&built->loop, BUILT_READAHEAD, &why) < 0)
		log_warn("read-ahead stays at the kernel's default: %s, ignoring", why.reason);
	return r;
}

int built_mount(struct built *built, struct error *err)
{
	int r = built_members(built, err);
	const struct fsmount setup = { .image = built->loop.path,
				       .devices = (const char *const *)built->paths,
				       .count = built->assembly.array->count,
				       .noexec = built->options->noexec,
				       .suid = built->options->suid,
				       .nosymfollow = built->options->nosymfollow,
				       .selinux = &built->options->selinux };

	if (r == 0)
		r = fsmount_create(&setup, &built->tree, err);
	return r < 0 ? r : built_check_again(built, err);
}

/* ---- its record ---- */

static char *built_uuid(const uint8_t uuid[16])
{
	char text[UUID_TEXT_SIZE];

	format_uuid(uuid, text);
	return strdup(text);
}

static char *built_digest(const uint8_t digest[32])
{
	char text[DIGEST_TEXT_SIZE];

	format_digest(digest, text);
	return strdup(text);
}

/* Lists the members' devices and what they have read so far; NULL, also if one has no name: not known. */
static char *built_list_members(const struct built *built)
{
	struct activity activity;
	char *list = NULL;
	struct stat st;

	for (uint32_t i = 0; built->paths && i < built->assembly.array->count; i++) {
		if (stat(built->paths[i], &st) < 0 || !sysfs_block_name(st.st_rdev, activity.name) ||
		    !activity_read(&activity)) {
			free(list);
			return NULL;
		}
		list = activity_add(list, &activity);
		if (!list)
			return NULL;
	}
	return list;
}

int built_record(const struct built *built, const char *list, struct mount_record *ret, struct error *err)
{
	auto_mount_record struct mount_record record = { 0 };
	int r = mount_record_disk(loop_name(&built->loop), &record.disk, err);

	if (r < 0)
		return r;
	record.volume = strdup(built->options->volume);
	record.options = strdup(list);
	record.label = strdup(built->version->label);
	record.wanted = built->options->version ? strdup(built->options->version) : NULL;
	record.members = built_list_members(built);
	record.image = strdup(loop_name(&built->loop));
	record.uuid = built_uuid(built->version->uuid);
	record.pointed = built_uuid(built->version->uuid);
	record.digest = built_digest(built->version->digest);
	record.volume_uuid = built_uuid(built->super.volume_uuid);
	if (!record.volume || !record.options || !record.label || !record.image || !record.uuid || !record.digest ||
	    !record.pointed || !record.volume_uuid || !record.wanted != !built->options->version)
		return error_no_memory(err);
	record.sequence = built->version->sequence;
	record.seen = built->super.sequence;
	record.date = built->signer.date;
	record.since = (uint64_t)time(NULL);
	*ret = record;
	record = (struct mount_record){ 0 };
	return 0;
}
