/* SPDX-License-Identifier: MIT */
/* Loads a version, builds its EROFS in memory and mounts it with the volume's members as further devices. The image and
 * members that are files become loop devices, which disappear with the mount. */
#include "kernelmount/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assembly/assembly.h"
#include "assembly/naming.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/headroom.h"
#include "base/text/format.h"
#include "device/locate.h"
#include "device/locker.h"
#include "device/occupied.h"
#include "erofs/erofs_image.h"
#include "image/catalogue/catalogue.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "kernelmount/fsmount.h"
#include "kernelmount/loop.h"

#define KERNEL_READAHEAD 1024 /* KiB, as on FUSE mounts */

struct kernel {
	const struct mount_options *options;
	struct assembly assembly;
	struct superblock super;
	struct catalogue catalogue;
	const struct version *version;
	struct index *index;
	struct erofs_image *image;
	int memory; /* memfd with the image */
	struct loop loop;
	struct loop *loops; /* by member; paths has the loop device, or the member itself if it is a device */
	char **paths;
};

static void kernel_close(struct kernel *kernel)
{
	uint32_t count = kernel->assembly.array ? kernel->assembly.array->count : 0;

	loop_close(&kernel->loop);
	for (uint32_t i = 0; i < count; i++) {
		if (kernel->loops)
			loop_close(&kernel->loops[i]);
		if (kernel->paths)
			free(kernel->paths[i]);
	}
	free(kernel->loops);
	free(kernel->paths);
	close_fd(&kernel->memory);
	erofs_image_free(kernel->image);
	if (kernel->index)
		index_close(kernel->index);
	catalogue_free(&kernel->catalogue);
	assembly_close(&kernel->assembly);
}

static int kernel_choose(struct kernel *kernel, struct error *err)
{
	const struct mount_options *options = kernel->options;

	if (options->version)
		return catalogue_select(&kernel->catalogue, options->version, &kernel->version, err);
	if (options->has_digest)
		return catalogue_select_digest(&kernel->catalogue, options->digest, options->volume, &kernel->version,
					       err);
	kernel->version = catalogue_current(&kernel->catalogue);
	return kernel->version ? 0 :
		       error_set(err, -ENOENT, "the volume has no current version, choose one with version=");
}

/* Proves names and attributes, which the image in memory has; contents are read by the kernel later. */
static int kernel_check_signed(struct kernel *kernel, struct error *err)
{
	const struct trust *trust = &kernel->options->trust;
	struct trust_signer signer;
	int r = trust_check(trust, kernel->version, kernel->super.volume_uuid, &signer, err);

	if (r == 0 && trust->signers)
		r = dump_check_digest(kernel->index, kernel->version, kernel->version->digest, NULL, err);
	if (r == 0 && trust->signers)
		log_warn("version '%s' is signed by '%s', but the kernel verifies nothing that it reads: only names, "
			 "sizes and attributes are what was signed", kernel->version->label, signer.name);
	return r;
}

static int kernel_load(struct kernel *kernel, struct error *err)
{
	struct source *source;
	int r = assembly_open_patient(kernel->options->volume, &kernel->assembly, err);

	if (r < 0)
		return r;
	source = &kernel->assembly.array->source;
	r = catalogue_load_rings(source, kernel->assembly.rings, &kernel->super, &kernel->catalogue, err);
	if (r == 0)
		r = kernel_choose(kernel, err);
	if (r == 0)
		r = index_load(backing_of(source, &kernel->catalogue.members), kernel->version, &kernel->index, err);
	if (r == 0)
		r = kernel_check_signed(kernel, err);
	if (r == 0 && kernel->options->has_digest)
		r = dump_check_digest(kernel->index, kernel->version, kernel->options->digest, &kernel->catalogue,
				      err);
	return r < 0 ? r : erofs_image_plan(kernel->assembly.array, kernel->version, kernel->index,
					    kernel->options->suid, &kernel->image, err);
}

static int kernel_write_image(struct kernel *kernel, struct error *err)
{
	int r = headroom_check(erofs_image_sizes(kernel->image).bytes, 0, err);
	char name[OCCUPIED_NAME_SIZE];
	auto_free char *path = NULL;

	if (r == 0) /* any member's name identifies the volume */
		r = locate_path(kernel->assembly.names[0], &path, err);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%s %s %s", OCCUPIED_IMAGE, kernel->version->label, path);
	kernel->memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (kernel->memory < 0)
		return error_errno(err, "no memory for the image");
	r = erofs_image_write(kernel->image, kernel->memory, err);
	if (r == 0 && fcntl(kernel->memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = error_errno(err, "cannot seal the image");
	return r;
}

/* The kernel opens a block device by its path, which must still lead to the device that was checked. */
static int kernel_member_device(struct kernel *kernel, uint32_t i, const struct stat *checked, struct error *err)
{
	struct stat st;

	if (stat(kernel->paths[i], &st) < 0)
		return error_errno(err, "'%s'", kernel->paths[i]);
	if (!S_ISBLK(st.st_mode) || st.st_rdev != checked->st_rdev)
		return error_set(err, -ESTALE, "'%s' is another device by now", kernel->paths[i]);
	return 0;
}

static int kernel_refuse_locked(const char *path, int fd, struct error *err)
{
	char who[LOCKER_TEXT_SIZE] = "";

	if (file_use(fd) == FILE_USE_WRITTEN)
		return error_set(err, -EBUSY, "'%s' is being changed, mount it when that is done", path);
	(void)locker_find(fd, who);
	return error_set(err, -EBUSY, "another program has '%s' locked, mount it when that has ended%s%s", path,
			 who[0] ? ": " : "", who);
}

static int kernel_member(struct kernel *kernel, uint32_t i, struct error *err)
{
	int fd = kernel->assembly.array->fds[i];
	struct stat st;
	int r = locate_path(kernel->assembly.names[i], &kernel->paths[i], err);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", kernel->paths[i]);
	if (S_ISBLK(st.st_mode))
		return kernel_member_device(kernel, i, &st, err);
	/* The lock belongs to the open file, which the loop device keeps open: no publisher changes the volume while
	 * it is mounted. A device needs no lock, because the kernel opens it exclusively. */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return kernel_refuse_locked(kernel->paths[i], fd, err);
	r = loop_set_up(fd, kernel->paths[i], true, &kernel->loops[i], err);
	if (r < 0)
		return r;
	free(kernel->paths[i]);
	kernel->paths[i] = strdup(kernel->loops[i].path);
	return kernel->paths[i] ? 0 : error_no_memory(err);
}

static int kernel_members(struct kernel *kernel, struct error *err)
{
	uint32_t count = kernel->assembly.array->count;
	int r = 0;

	kernel->loops = calloc(count, sizeof(*kernel->loops));
	kernel->paths = calloc(count, sizeof(*kernel->paths));
	if (!kernel->paths || !kernel->loops)
		return error_no_memory(err);
	for (uint32_t i = 0; i < count; i++)
		kernel->loops[i].fd = -1;
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = kernel_member(kernel, i, err);
	return r;
}

/* The version may have been removed or moved before the kernel held the members. */
static int kernel_check_again(struct kernel *kernel, struct error *err)
{
	const struct version *version = kernel->version;
	struct catalogue catalogue = { 0 };
	struct superblock super;
	bool is_there;
	int r = catalogue_load(&kernel->assembly.array->source, &super, &catalogue, err);

	if (r < 0)
		return r;
	is_there = catalogue_holds(&catalogue, version->sequence, version->uuid);
	catalogue_free(&catalogue);
	return is_there ? 0 : error_set(err, -ESTALE, "version '%s' was removed or moved meanwhile, mount again",
					version->label);
}

static int kernel_mount_image(struct kernel *kernel, struct error *err)
{
	struct fsmount setup = { .mountpoint = kernel->options->mountpoint,
				 .image = kernel->loop.path,
				 .devices = (const char *const *)kernel->paths,
				 .count = kernel->assembly.array->count,
				 .noexec = kernel->options->noexec,
				 .suid = kernel->options->suid,
				 .nosymfollow = kernel->options->nosymfollow,
				 .selinux = &kernel->options->selinux };
	struct erofs_image_sizes sizes = erofs_image_sizes(kernel->image);
	struct error why = { 0 };
	char bytes[SIZE_TEXT_SIZE];
	auto_close int tree = -1;
	int r;

	if (loop_set_readahead(&kernel->loop, KERNEL_READAHEAD, &why) < 0)
		log_warn("read-ahead stays at the kernel's default: %s, ignoring", why.reason);
	r = fsmount_create(&setup, &tree, err);
	if (r == 0)
		r = kernel_check_again(kernel, err);
	if (r == 0)
		r = occupied_check(setup.mountpoint, NULL, err);
	if (r == 0)
		r = fsmount_show(&setup, tree, err);
	if (r == 0)
		log_info("the kernel serves '%s': version '%s' of '%s', %s of metadata in memory; nothing is verified",
			 setup.mountpoint, kernel->version->label, kernel->options->volume,
			 format_size(sizes.bytes, bytes));
	return r;
}

int kernel_mount(const struct mount_options *options, bool is_rehearsed, struct error *err)
{
	struct kernel kernel = { .options = options, .memory = -1, .loop = { .fd = -1 } };
	int r = geteuid() == 0 ? 0 : error_set(err, -EPERM, "only root may mount by the kernel");

	if (r == 0)
		r = kernel_load(&kernel, err);
	if (r == 0 && !is_rehearsed)
		r = kernel_write_image(&kernel, err);
	if (r == 0 && !is_rehearsed)
		r = loop_set_up(kernel.memory, OCCUPIED_IMAGE, false, &kernel.loop, err);
	if (r == 0 && !is_rehearsed)
		r = kernel_members(&kernel, err);
	if (r == 0 && !is_rehearsed)
		r = kernel_mount_image(&kernel, err);
	kernel_close(&kernel);
	return r;
}
