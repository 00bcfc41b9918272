/* SPDX-License-Identifier: MIT */
/* Opens the volume that the user names, directly or by a mount. */
#include "volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "assembly/assembly.h"
#include "assembly/naming.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/interrupt.h"
#include "device/leftover.h"
#include "device/locate.h"
#include "io/pace.h"
#include "io/site.h"
#include "mounts/mounted.h"

void volume_close(struct volume *volume)
{
	if (!volume)
		return;
	catalogue_free(&volume->catalogue);
	if (volume->array)
		naming_free(volume->names, volume->array->count);
	if (volume->array)
		naming_free(volume->whys, volume->array->count);
	array_close(volume->array);
	free(volume->rings);
	free(volume->path);
	free(volume->mount);
	free(volume->label);
	reported_version_free(&volume->served);
	free(volume);
}

int volume_pace(struct array_source *array, uint64_t bandwidth, struct error *err)
{
	return pace_new(array->count, bandwidth, &array->pace, err);
}

static int volume_refuse(const char *name, int code, struct error *err)
{
	return code == ENOENT || code == ENOTDIR || code == EACCES ? site_refuse(name, code, err) :
								     leftover_error(code, name, err);
}

/* Finds the mount on which the name lies, or the target of the name if it is a symlink. */
static int volume_find_mount(const char *name, struct mounted *ret, struct stat *st, struct error *err)
{
	int r;

	if (lstat(name, st) < 0)
		return volume_refuse(name, errno, err);
	r = mounted_at(name, AT_SYMLINK_NOFOLLOW, ret, err);
	if (r != -ENOENT || !S_ISLNK(st->st_mode))
		return r;
	if (stat(name, st) < 0)
		return volume_refuse(name, errno, err);
	return mounted_at(name, 0, ret, err);
}

/* Finds the volume's path by its mount: from the daemon, which knows it best, or from the mount table if that does not
 * answer. */
static int volume_name_by_mount(struct mounted *mounted, struct volume *volume, struct error *err)
{
	if (mounted->label) {
		volume->label = *mounted->label ? take_ptr(&mounted->label) : NULL;
		return mounted_volume(mounted->source, &volume->path, err);
	}
	volume->mount = take_ptr(&mounted->point);
	if (reported_read_version(volume->mount, &volume->served, NULL) == 0 &&
	    mounted_reach(volume->served.volume, &volume->path))
		return 0;
	return mounted_volume(mounted->source, &volume->path, err);
}

static int volume_keep_name(const char *name, struct volume *volume, struct error *err)
{
	volume->path = strdup(name);
	return volume->path ? 0 : error_no_memory(err);
}

static int volume_name(const char *name, struct volume *volume, struct error *err)
{
	struct mounted mounted = { 0 };
	struct stat st = { 0 };
	int r;

	if (!naming_is_one(name))
		return volume_keep_name(name, volume, err);
	if (locate_is_identity(name))
		return locate_path(name, &volume->path, err);
	r = volume_find_mount(name, &mounted, &st, err);
	if (r == 0) {
		r = volume_name_by_mount(&mounted, volume, err);
		mounted_free(&mounted);
		return r;
	}
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return st.st_mode ? error_set(err, r, "neither a volume nor on a datasetfs mount") : r;
	return volume_keep_name(name, volume, err);
}

/* Replaces a member's name by its path, because a change of the volume opens it again. A missing member has none. */
static int volume_locate(char **name, struct error *err)
{
	char *path;
	int r = *name ? locate_path(*name, &path, err) : 0;

	if (r < 0 || !*name)
		return r;
	free(*name);
	*name = path;
	return 0;
}

static int volume_open_members(struct volume *volume, struct error *err)
{
	struct assembly assembly;
	int r = assembly_open(volume->path, FILE_WAITS, &assembly, err);

	if (r < 0)
		return r;
	volume->array = take_ptr(&assembly.array);
	volume->names = take_ptr(&assembly.names);
	volume->whys = take_ptr(&assembly.whys);
	volume->rings = take_ptr(&assembly.rings);
	for (uint32_t i = 0; r == 0 && i < volume->array->count; i++)
		r = volume_locate(&volume->names[i], err);
	return r;
}

int volume_open(const char *name, struct volume **ret, struct error *err)
{
	auto_volume struct volume *volume = calloc(1, sizeof(*volume));
	int r;

	if (!volume)
		return error_no_memory(err);
	r = volume_name(name, volume, err);
	if (r < 0)
		return r;
	r = volume_open_members(volume, err);
	if (r < 0)
		return error_wrap(err, r, "volume '%s'", volume->path);
	*ret = take_ptr(&volume);
	return 0;
}

/* Checks that this is the volume of the mount: -ESTALE if the device or path of the mount has another one by now. */
static int volume_check_mounted(const struct volume *volume, const struct superblock *super, struct error *err)
{
	if (volume->served.sequence && memcmp(super->volume_uuid, volume->served.volume_uuid, 16) != 0)
		return error_set(err, -ESTALE, "'%s' is not the volume that is mounted", volume->path);
	return 0;
}

static int volume_lock(const struct volume *volume, uint32_t leaving, bool preempt, struct transaction *ret,
		       struct error *err)
{
	uint32_t count = 0;
	auto_free struct site *sites = calloc(volume->array->count, sizeof(*sites));
	struct transaction_setup setup = { .path = volume->path, .sites = sites, .mode = FILE_WRITE,
					   .leaving = leaving, .preempt = preempt };
	int r = sites ? 0 : error_no_memory(err);

	while (r == 0 && count < volume->array->count) {
		sites[count] = SITE_NONE;
		if (volume->names[count])
			r = site_again(volume->names[count], volume->array->fds[count], &sites[count], err);
		count += r == 0;
	}
	setup.count = count;
	if (r == 0)
		r = transaction_open(&setup, ret, err);
	while (count)
		site_close(&sites[--count]);
	return r < 0 ? error_wrap(err, r, "volume '%s'", volume->path) : 0;
}

int volume_begin(const struct volume *volume, uint32_t leaving, bool preempt, struct transaction *ret,
		 struct error *err)
{
	int r;

	interrupt_install(); /* a reservation outlives its process */
	r = volume_lock(volume, leaving, preempt, ret, err);
	if (r < 0)
		return r;
	r = transaction_load(ret, err);
	if (r == 0 && volume->mount && !volume->served.sequence)
		r = error_set(err, -ESTALE, "'%s' does not identify its volume, name the volume itself",
			      volume->mount);
	if (r == 0)
		r = volume_check_mounted(volume, &ret->super, err);
	if (r < 0)
		transaction_close(ret);
	return r;
}

int volume_transaction(const struct volume *volume, enum degraded degraded, struct transaction *ret,
		       struct error *err)
{
	int r = volume_begin(volume, TRANSACTION_ALL_STAY, false, ret, err);

	if (r < 0)
		return r;
	ret->degraded = degraded;
	r = transaction_check(ret, err);
	if (r < 0)
		transaction_close(ret);
	return r;
}

void volume_set_patience(struct volume *volume, int64_t ns)
{
	if (volume->array->count == 1)
		volume->array->files[0]->patience = ns;
}

int volume_load(struct volume *volume, struct error *err)
{
	int r;

	if (volume->super.sequence) /* it was loaded before */
		memset(volume->rings, 0, SUPERBLOCK_RINGS * sizeof(*volume->rings));
	r = catalogue_load(&volume->array->source, volume->rings, &volume->super, &volume->catalogue, err);
	if (r == 0)
		volume_set_patience(volume, 0);
	return r < 0 ? r : volume_check_mounted(volume, &volume->super, err);
}

int volume_open_loaded(const char *name, struct volume **ret, struct error *err)
{
	auto_volume struct volume *volume = NULL;
	struct error stale = { 0 };
	int r;

	r = volume_open(name, &volume, err);
	if (r < 0)
		return r;
	r = volume_load(volume, err);
	if (r < 0)
		return r;
	if (superblock_may_be_stale(&volume->super, &stale))
		log_warn("volume '%s': %s", volume->path, stale.reason);
	*ret = take_ptr(&volume);
	return 0;
}

struct backing volume_backing(const struct volume *volume)
{
	return backing_of(&volume->array->source, &volume->catalogue.members);
}

int volume_find(const struct catalogue *catalogue, const char *label, struct version **ret, struct error *err)
{
	struct version *version = catalogue_by_label(catalogue, label);

	if (!version)
		return catalogue_refuse(catalogue, label, err);
	*ret = version;
	return 0;
}

static int volume_served(const struct volume *volume, const struct version **ret, struct error *err)
{
	if (!volume->served.sequence)
		return error_set(err, -ENOENT, "'%s' does not identify its version", volume->mount);
	if (!catalogue_holds(&volume->catalogue, volume->served.sequence, volume->served.uuid))
		return error_set(err, -ENOENT, "the version that '%s' serves is no longer on the volume",
				 volume->mount);
	*ret = catalogue_by_sequence(&volume->catalogue, volume->served.sequence);
	return 0;
}

int volume_version(const struct volume *volume, const char *label, const struct version **ret,
		   struct error *err)
{
	if (!label && volume->mount)
		return volume_served(volume, ret, err);
	if (!label)
		label = volume->label;
	if (label)
		return catalogue_select(&volume->catalogue, label, ret, err);
	*ret = catalogue_current(&volume->catalogue);
	return *ret ? 0 : error_set(err, -ENOENT, "the volume has no current version");
}
