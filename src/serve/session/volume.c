/* SPDX-License-Identifier: MIT */
/* Puts the members into serve->volume, with their names, and with a route if there are several. */
#include "serve/session/volume.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assembly/assembly.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "serve/recovery/recovery.h"
#include "supervisor/keep.h"

static int volume_make_window(struct serve *serve, struct error *err)
{
	const struct mount_options *options = &serve->options;
	const struct window_setup setup = { .members = serve->volume.array->count,
					    .is_adaptive = options->window,
					    .iops = options->max_iops,
					    .bandwidth = options->max_bandwidth };

	if (!options->window && !options->max_iops && !options->max_bandwidth)
		return 0;
	return window_new(&setup, &serve->volume.window, err);
}

/* Takes the array, also on failure: session_free() closes it. */
static int volume_take(struct serve *serve, struct array_source *array, struct error *err)
{
	struct serve_volume *volume = &serve->volume;
	int r = 0;

	volume->array = array;
	volume->members = calloc(array->count, sizeof(*volume->members));
	if (!volume->members)
		return error_no_memory(err);
	if (array->count > 1)
		r = route_new(array->count, &volume->route, err);
	if (r == 0)
		r = volume_make_window(serve, err);
	if (r == 0)
		r = array_reserve(array, err);
	if (r < 0)
		return r;
	array->owner = serve;
	array->is_silent = volume->route ? serve_is_silent : NULL;
	for (uint32_t i = 0; volume->route && i < array->count; i++)
		if (array_has(array, i))
			serve_be_patient(serve, i, array->files[i]);
	return 0;
}

int volume_open(struct serve *serve, struct error *err)
{
	struct assembly assembly;
	int r = assembly_open(serve->options.volume, FILE_WAITS, &assembly, err);

	if (r < 0)
		return r;
	r = volume_take(serve, take_ptr(&assembly.array), err);
	for (uint32_t i = 0; r == 0 && i < assembly.count; i++) {
		if (assembly.names[i])
			serve_rename_member(serve, i, take_ptr(&assembly.names[i]));
		else
			log_warn("volume '%s' is degraded: member %" PRIu32 " is missing or stale, copies are read "
				 "instead", serve->options.volume, i);
	}
	if (r == 0)
		atomic_store(&serve->volume.rings, take_ptr(&assembly.rings));
	assembly_close(&assembly);
	return r;
}

/* ---- a successor ---- */

static int volume_adopt_member(struct serve *serve, struct array_source *array, uint32_t slot, struct error *err)
{
	auto_close int fd = keep_take(serve->keep, "member.%" PRIu32, slot);
	struct file_source *file;
	int r;

	if (fd < 0)
		return 0;
	r = file_adopt(fd, &file, err);
	if (r < 0)
		return error_wrap(err, r, "member %" PRIu32, slot);
	(void)take_fd(&fd);
	(void)array_put(array, slot, file);
	return 0;
}

/* A member whose name was too long for the record is found again by the volume's. */
static int volume_adopt_name(struct serve *serve, uint32_t slot, struct error *err)
{
	const char *known = recovery_member(serve->recovery, slot);
	char *name;

	if (!array_has(serve->volume.array, slot))
		return 0;
	name = strdup(known[0] ? known : serve->options.volume);
	if (!name)
		return error_no_memory(err);
	serve_rename_member(serve, slot, name);
	return 0;
}

int volume_adopt(struct serve *serve, struct error *err)
{
	const struct recovery *record = serve->recovery;
	struct array_source *array = NULL;
	int r = array_new(record->member_count, &array, err);

	for (uint32_t i = 0; r == 0 && i < record->member_count; i++)
		r = volume_adopt_member(serve, array, i, err);
	if (r < 0) {
		array_close(array);
		return r;
	}
	r = volume_take(serve, array, err);
	for (uint32_t i = 0; r == 0 && i < record->member_count; i++)
		r = volume_adopt_name(serve, i, err);
	memcpy(serve->volume.uuid, record->volume_uuid, sizeof(serve->volume.uuid));
	serve->volume.opened = record->opened;
	atomic_store(&serve->volume.newest, atomic_load(&record->newest));
	return r;
}
