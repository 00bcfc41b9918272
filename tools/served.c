/* SPDX-License-Identifier: MIT */
/* Asks only mounts that may have the volume, because a process that looks at a mount keeps it busy for a moment. */
#include "served.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "assembly/naming.h"
#include "attach/uses.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/text/format.h"
#include "device/locate.h"
#include "io/site.h"

#define SERVED_TEXT_SIZE (PATH_MAX + 64)

/* ---- choosing mounts ---- */

enum served_match { SERVED_OTHER, SERVED_PERHAPS, SERVED_CERTAIN };

struct served_search {
	const struct volume *volume;
	char **points;
	size_t count;
};

static bool served_is_member(const struct volume *volume, const char *name)
{
	auto_free char *path = NULL;
	struct stat st, member;

	if (locate_path(name, &path, NULL) < 0 || stat(path, &st) < 0)
		return false;
	for (uint32_t i = 0; i < volume->array->count; i++)
		if (volume->array->fds[i] >= 0 && fstat(volume->array->fds[i], &member) == 0 &&
		    site_is_same(&st, &member))
			return true;
	return false;
}

/* Compares a mount's source with the volume. A source that has lost its name may be this volume under another name. */
static enum served_match served_match(const struct volume *volume, const char *source)
{
	auto_free char *name = NULL;
	char **names = NULL;
	uint32_t count = 0;
	bool found = false;

	if (mounted_volume(source, &name, NULL) < 0 || naming_is_uuid(name) ||
	    naming_split(name, &names, &count, NULL) < 0)
		return SERVED_PERHAPS;
	for (uint32_t i = 0; !found && i < count; i++)
		found = served_is_member(volume, names[i]);
	naming_free(names, count);
	return found ? SERVED_CERTAIN : SERVED_OTHER;
}

/* Collects mounts to ask. Mounts that the kernel serves are skipped: they keep the volume locked. */
static int served_see(void *argument, const struct mounted *mounted, struct error *err)
{
	struct served_search *search = argument;
	int r;

	if (mounted->label || served_match(search->volume, mounted->source) == SERVED_OTHER)
		return 0;
	r = grow_one(search->points, search->count, err);
	if (r < 0)
		return r;
	search->points[search->count] = strdup(mounted->point);
	if (!search->points[search->count])
		return error_no_memory(err);
	search->count++;
	return 0;
}

/* ---- their answers ---- */

static int served_ask(struct served *served, const struct served_search *search, struct error *err)
{
	int r;

	if (!search->count) /* without names watch_open() would take all mounts */
		return 0;
	served->mounts = calloc(search->count, sizeof(*served->mounts));
	if (!served->mounts)
		return error_no_memory(err);
	r = watch_open(&served->watch, search->points, search->count, err);
	for (size_t i = 0; i < served->watch.count; i++)
		served->mounts[i].is_certain =
			served_match(search->volume, served->watch.mounts[i]->mounted.source) == SERVED_CERTAIN;
	if (r == 0)
		r = watch_ask(&served->watch, err);
	return r < 0 ? r : watch_wait(&served->watch, err);
}

int served_open(const struct volume *volume, const uint8_t volume_uuid[16], struct served *ret, struct error *err)
{
	struct served_search search = { .volume = volume };
	struct served served = { 0 };
	int r = mounted_each_once(served_see, &search, err);

	memcpy(served.volume_uuid, volume_uuid, sizeof(served.volume_uuid));
	if (r == 0)
		r = served_ask(&served, &search, err);
	for (size_t i = 0; i < search.count; i++)
		free(search.points[i]);
	free(search.points);
	if (r < 0) {
		served_close(&served);
		return r;
	}
	*ret = served;
	return 0;
}

void served_close(struct served *served)
{
	watch_close(&served->watch);
	free(served->mounts);
	*served = (struct served){ 0 };
}

/* ---- mounts that are concerned ---- */

static bool served_is_unknown(const struct watch_mount *mount)
{
	return mount->state == WATCH_SILENT || mount->state == WATCH_REFUSES;
}

static bool served_has_volume(const struct served *served, const struct watch_mount *mount)
{
	return mount->state == WATCH_ANSWERS &&
	       !memcmp(mount->stats.volume_uuid, served->volume_uuid, sizeof(served->volume_uuid));
}

void served_concern(struct served *served, uint64_t sequence, bool and_followers)
{
	for (size_t i = 0; i < served->watch.count; i++) {
		const struct watch_mount *mount = served->watch.mounts[i];

		if ((served->mounts[i].is_certain && served_is_unknown(mount)) ||
		    (served_has_volume(served, mount) && mount->stats.sequence == sequence &&
		     (and_followers || !mount->stats.follows)))
			served->mounts[i].is_concerned = true;
	}
}

void served_concern_gone(struct served *served, const struct catalogue *catalogue)
{
	for (size_t i = 0; i < served->watch.count; i++) {
		const struct watch_mount *mount = served->watch.mounts[i];

		if (served_has_volume(served, mount) &&
		    !catalogue_holds(catalogue, mount->stats.sequence, mount->stats.uuid))
			served->mounts[i].is_concerned = true;
	}
}

size_t served_concern_all(struct served *served)
{
	size_t count = 0;

	for (size_t i = 0; i < served->watch.count; i++) {
		served->mounts[i].is_concerned |= served->mounts[i].is_certain ||
						  served_has_volume(served, served->watch.mounts[i]);
		count += served->mounts[i].is_concerned;
	}
	return count;
}

/* ---- output ---- */

/* Says to whom a shared mount is attached. Returns text; "" for any other mount. */
static const char *served_consumers(dev_t device, char text[SERVED_TEXT_SIZE])
{
	auto_uses struct uses uses = { 0 };
	const struct use *first = NULL;
	size_t count;

	*text = 0;
	if (uses_read(&uses, NULL) < 0 || !uses_shared(&uses, device))
		return text;
	count = uses_count(&uses, device);
	for (size_t i = 0; !first && i < uses.count; i++)
		if (uses.items[i].device == device && uses.items[i].kind == USE_PLACE)
			first = &uses.items[i];
	if (first && count > 1)
		snprintf(text, SERVED_TEXT_SIZE, ", attached to '%s' and %zu more", first->point, count - 1);
	else if (first)
		snprintf(text, SERVED_TEXT_SIZE, ", attached to '%s'", first->point);
	else
		snprintf(text, SERVED_TEXT_SIZE, ", attached in %zu other mount namespace%s", count,
			 count == 1 ? "" : "s");
	return text;
}

static void served_name(const struct watch_mount *mount)
{
	char consumers[SERVED_TEXT_SIZE];

	served_consumers(mount->mounted.device, consumers);
	if (served_is_unknown(mount))
		log_warn("'%s' may serve it%s: %s", mount->mounted.point, consumers, mount->reason);
	else
		log_warn("'%s' serves version '%s'%s", mount->mounted.point, mount->stats.label, consumers);
}

int served_refuse(const struct served *served, bool force, const char *remedy, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < served->watch.count; i++) {
		if (!served->mounts[i].is_concerned)
			continue;
		if (!served->mounts[i].is_told)
			served_name(served->watch.mounts[i]);
		served->mounts[i].is_told = true;
		count++;
	}
	if (!count || force)
		return 0;
	return error_set(err, -EBUSY, "%zu mount%s of this machine would lose what %s: %s", count,
			 count == 1 ? "" : "s", count == 1 ? "it serves" : "they serve", remedy);
}

void served_json(const struct served *served, struct json *json)
{
	json_begin_array(json, "mounts");
	for (size_t i = 0; i < served->watch.count; i++)
		if (served->mounts[i].is_concerned)
			json_string(json, NULL, served->watch.mounts[i]->mounted.point);
	json_end_array(json);
}

void served_warn(const struct served *served, const char *label, uint64_t sequence)
{
	char uuid[UUID_TEXT_SIZE], which[48] = "", what[DSFS_LABEL_MAX + 3] = "what was moved";

	format_uuid(served->volume_uuid, uuid);
	if (sequence)
		snprintf(which, sizeof(which), ",sequence=\"%" PRIu64 "\"", sequence);
	if (label)
		snprintf(what, sizeof(what), "'%s'", label);
	log_warn("mounts on other hosts cannot be seen from here: any that still serves %s fails with EIO once the "
		 "space is used again; Prometheus finds them by datasetfs_version_info{volume_uuid=\"%s\"%s}",
		 what, uuid, which);
}
