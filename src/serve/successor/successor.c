/* SPDX-License-Identifier: MIT */
/* Writes the record and names the descriptors; session/takeover.c reads both. */
#include "serve/successor/successor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/step.h"
#include "fuse/abort.h"
#include "fuse/init.h"
#include "fuse/mount.h"
#include "fuse/notice.h"
#include "serve/recovery/recovery.h"
#include "serve/successor/crash.h"
#include "serve/worker/worker.h"
#include "supervisor/keep.h"

/* No kernel sends again what came over io_uring. */
static bool successor_is_possible(const struct serve *serve)
{
	return serve->is_kept && !serve->machine.ring;
}

/* ---- the beginning ---- */

/* Without a record for it, no other server can take over, and the mount ends with this one. */
static int successor_make(struct serve *serve, struct error *err)
{
	auto_close int fd = -1;
	struct error why = { 0 };
	int r = -ENOENT;

	if (serve->keep) {
		r = recovery_new(&serve->recovery, &fd, &why);
		if (r < 0)
			log_warn("no other server can take over if this one dies: %s", why.reason);
	}
	serve->is_kept = r == 0;
	return r < 0 ? recovery_new(&serve->recovery, NULL, err) : keep_put(serve->keep, fd, err, "record");
}

/* The groups' names may stand for other numbers by now. */
static void successor_take_options(struct serve *serve)
{
	struct mount_options *options = &serve->options;
	const struct recovery *record = serve->recovery;

	options->volume = record->volume;
	options->mountpoint = record->mountpoint;
	options->control_group.number = record->control_group;
	options->direct_group.number = record->direct_group;
	serve->owner = record->owner;
}

static int successor_open(struct serve *serve, struct error *err)
{
	const char *name = keep_is_rehearsal(serve->keep) ? KEEPING_REHEARSAL : "record";
	auto_close int fd = keep_take(serve->keep, "%s", name);
	struct recovery_request request = { 0 };
	uint32_t times;
	int r;

	if (fd < 0)
		return error_set(err, -EPROTO, "the former server left no record");
	step("takeover-begun");
	r = recovery_open(fd, &serve->recovery, err);
	if (r < 0)
		return r;
	serve->is_kept = true;
	successor_take_options(serve);
	times = recovery_take_over(serve->recovery, keep_restarts(serve->keep), &request);
	step("takeover-record");
	if (times)
		crash_tell(serve->options.mountpoint, &request, times);
	return 0;
}

int successor_begin(struct serve *serve, struct error *err)
{
	int r = serve->adopts ? successor_open(serve, err) : successor_make(serve, err);

	if (r == 0)
		crash_watch(serve->recovery);
	notice_count(keep_notices(serve->keep));
	return r;
}

enum { KEEPING_REQUESTS, KEEPING_MOUNT, KEEPING_NOTHING };

static unsigned successor_level(const struct serve *serve)
{
	if (keep_fd(serve->keep) < 0 || !successor_is_possible(serve))
		return KEEPING_NOTHING;
	return serve->recovery->init_resends ? KEEPING_REQUESTS : KEEPING_MOUNT;
}

bool successor_survives_server(const struct serve *serve)
{
	return successor_level(serve) != KEEPING_NOTHING;
}

const char *successor_survives(const struct serve *serve)
{
	static const char *const words[] = { "requests", "mount", "nothing" };

	return words[successor_level(serve)];
}

const char *successor_promise(const struct serve *serve)
{
	static const char *const promises[] = {
		"if its server dies, another one goes on and no request fails",
		"if its server dies, another one goes on; requests under way may fail with ECONNABORTED",
		"if its server dies, the mount ends",
	};

	return promises[successor_level(serve)];
}

void successor_end(struct serve *serve)
{
	keep_drop(serve->keep, "fuse");
	for (uint32_t i = 0; serve->volume.array && i < serve->volume.array->count; i++)
		keep_drop(serve->keep, "member.%" PRIu32, i);
	keep_drop(serve->keep, "cache");
	keep_drop(serve->keep, "cache-map");
	keep_drop(serve->keep, "cache-data");
	keep_drop(serve->keep, "cache-lock");
	keep_drop(serve->keep, "farewell");
}

void successor_free(struct serve *serve)
{
	crash_watch(NULL);
	recovery_close(serve->recovery);
}

/* ---- versions and members ---- */

int successor_version(struct serve *serve, const struct generation *generation, struct error *err)
{
	int r;

	if (!serve->is_kept)
		return 0;
	step("version-recorded");
	r = keep_put(serve->keep, generation->record, err, "version.%" PRIu64, generation->key);
	step("version-put");
	if (r == 0)
		r = keep_put(serve->keep, generation->opened.index->memfd, err, "index.%" PRIu64, generation->key);
	step("index-put");
	return r;
}

void successor_drop_descriptors(struct serve *serve, uint64_t key)
{
	keep_drop(serve->keep, "index.%" PRIu64, key);
	step("index-dropped");
	keep_drop(serve->keep, "version.%" PRIu64, key);
}

int successor_add_version(void *owner, const struct generation *generation, struct error *err)
{
	struct serve *serve = owner;
	struct recovery_version version = {
		.key = generation->key,
		.sequence = generation->sequence,
		.has_visitor = generation->has_visitor,
		.visitor = generation->visitor,
		.signer = generation->signer,
	};

	if (recovery_find_version(serve->recovery, generation->key)) /* it is taken over */
		return 0;
	memcpy(version.uuid, generation->opened.version.uuid, sizeof(version.uuid));
	return recovery_add_version(serve->recovery, &version, err);
}

void successor_remove_version(void *owner, const struct generation *generation)
{
	struct serve *serve = owner;
	uint64_t key = generation->key;

	/* A prepared one may be removed, if it was undone on the volume. */
	atomic_compare_exchange_strong(&serve->recovery->prepared, &key, 0);
	recovery_remove_version(serve->recovery, generation->key);
	step("version-removed");
	successor_drop_descriptors(serve, generation->key);
}

/* If the supervisor cannot take it, a successor reads the old one, which it finds lost. */
void successor_member(struct serve *serve, uint32_t slot)
{
	struct error err = { 0 };

	if (array_has(serve->volume.array, slot) &&
	    keep_put(serve->keep, serve->volume.array->fds[slot], &err, "member.%" PRIu32, slot) < 0)
		log_error(&err, "member %" PRIu32 " is not kept for another server", slot);
}

int successor_replace(struct serve *serve, int program, const char *name, struct error *err)
{
	auto_close int copy = -1;
	int r = recovery_copy(serve->recovery, &copy, err);

	if (r == 0)
		r = keep_put(serve->keep, copy, err, KEEPING_REHEARSAL);
	return r < 0 ? r : keep_upgrade(serve->keep, program, name, err);
}

/* Each server has the members that the record counts, so a server that dies meanwhile is followed by a wider one. */
int successor_widen(struct serve *serve, const int *fds, char *const *names, uint32_t count, struct error *err)
{
	auto_close int program = -1;
	int r = 0;

	if (!successor_survives_server(serve))
		return error_set(err, -EOPNOTSUPP, "the volume has %" PRIu32 " members now, had %" PRIu32 " at the "
				 "mount, and no other server can take over: unmount it and mount it again", count,
				 serve->volume.array->count);
	if (atomic_exchange(&serve->volume.is_widening, true))
		return 0;
	program = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	if (program < 0)
		r = error_errno(err, "cannot open '/proc/self/exe'");
	for (uint32_t i = serve->volume.array->count; r == 0 && i < count; i++) {
		r = keep_put(serve->keep, fds[i], err, "member.%" PRIu32, i);
		recovery_set_member(serve->recovery, i, names[i]);
	}
	if (r == 0) {
		atomic_store(&serve->recovery->member_count, count);
		r = successor_replace(serve, program, SUCCESSOR_WIDER, err);
	}
	if (r < 0)
		successor_narrow(serve, NULL);
	return r;
}

void successor_narrow(struct serve *serve, const struct error *why)
{
	atomic_store(&serve->recovery->member_count, serve->volume.array->count);
	atomic_store(&serve->volume.is_widening, false);
	if (why)
		log_error(why, "cannot take in members that were added to '%s', trying again", serve->options.volume);
}

void successor_served(struct serve *serve)
{
	const struct generation *announced = atomic_load(&serve->generations.announced);
	const struct generation *prepared = serve->generations.prepared;
	struct recovery_served served = {
		.key = announced->key,
		.switches = atomic_load(&serve->history.switches),
		.serving_since = atomic_load(&serve->history.serving_since),
		.outdated_until = atomic_load(&serve->history.outdated_until),
	};

	atomic_store(&serve->recovery->prepared, prepared ? prepared->key : 0);
	atomic_store(&serve->recovery->newest, atomic_load(&serve->volume.newest));
	recovery_serve(serve->recovery, &served);
}

/* ---- sockets ---- */

static int successor_rendezvous(struct serve *serve, const struct rendezvous *place, const char *name,
				struct error *err)
{
	int r;

	if (place->listener < 0)
		return 0;
	r = keep_put(serve->keep, place->listener, err, "%s", name);
	return r < 0 ? r : keep_put(serve->keep, place->folder, err, "%s-folder", name);
}

void successor_clients(struct serve *serve, const struct rendezvous *place)
{
	struct error err = { 0 };

	if (successor_rendezvous(serve, place, "client", &err) < 0) {
		log_error(&err, "the socket of programs is not kept for another server");
		return;
	}
	snprintf(serve->recovery->client_name, sizeof(serve->recovery->client_name), "%s", place->name);
	snprintf(serve->recovery->client_path, sizeof(serve->recovery->client_path), "%s", place->path);
}

/* ---- the mount ---- */

static void successor_note_mount(struct serve *serve, const struct mount *mount, const struct init *init)
{
	struct recovery *record = serve->recovery;
	struct mount_kept kept;

	mount_keep(mount, &kept);
	record->owner = serve->owner;
	record->control_group = serve->options.control_group.number;
	record->direct_group = serve->options.direct_group.number;
	record->device_major = kept.device_major;
	record->device_minor = kept.device_minor;
	record->started = serve->history.started;
	record->opened = serve->volume.opened;
	memcpy(record->volume_uuid, serve->volume.uuid, sizeof(record->volume_uuid));
	record->init_minor = init->minor;
	record->init_offered = init->offered;
	record->init_taken = init->taken;
	record->init_ring = init->ring;
	record->init_resends = init->resends;
	record->member_count = serve->volume.array->count;
	record->workers = serve->worker_count;
	record->slots = (uint32_t)serve->machine.slots;
	snprintf(record->volume, sizeof(record->volume), "%s", serve->options.volume);
	snprintf(record->mountpoint, sizeof(record->mountpoint), "%s", serve->options.mountpoint);
	snprintf(record->source, sizeof(record->source), "%s", mount_source(mount));
	snprintf(record->farewell_name, sizeof(record->farewell_name), "%s", kept.farewell_name);
	snprintf(record->farewell_path, sizeof(record->farewell_path), "%s", kept.farewell_path);
}

/* Without the file by which something else can end a store that hangs, nothing is stored. */
static void successor_abort(struct serve *serve, const struct mount *mount, bool resends)
{
	auto_close int fd = -1;
	struct error why = { 0 };
	int r = abort_open(mount_device_minor(mount), &fd, &why);

	if (r == 0)
		r = keep_put(serve->keep, fd, &why, "abort");
	if (r == 0 && !resends) /* a server that dies in a notification holds requests that no other server gets */
		r = keep_put(serve->keep, fd, &why, "stuck");
	atomic_store(&serve->may_store, r == 0);
	if (r < 0)
		log_debug("nothing is stored into the page cache, as nothing could end that: %s", why.reason);
}

/* Requests that a clone has under way can be sent again only by kernels with RESEND; others keep them for ever, unless
 * the clone is closed. */
static int successor_clones(struct serve *serve, bool resends, struct error *err)
{
	int r = 0;

	for (unsigned i = 0; resends && r == 0 && i < serve->worker_count; i++)
		r = keep_put(serve->keep, serve->workers[i]->channel->poll_fd, err, "clone.%u", i);
	return r;
}

int successor_mount(struct serve *serve, struct mount *mount, const struct init *init, struct error *err)
{
	int r;

	if (!serve->adopts) {
		successor_note_mount(serve, mount, init);
		successor_served(serve);
	} else if (serve->worker_count > serve->recovery->workers) {
		serve->recovery->workers = serve->worker_count;
	}
	if (!serve->keep)
		return 0;
	if (mount_is_given(mount) && !init->resends && access("/dev/fuse", R_OK | W_OK) < 0)
		serve->is_kept = false; /* without clones a server's open requests would stay so for ever */
	if (!serve->adopts)
		successor_abort(serve, mount, init->resends);
	if (!successor_is_possible(serve))
		return 0;
	for (uint32_t i = 0; !serve->adopts && i < serve->volume.array->count; i++)
		successor_member(serve, i);
	r = successor_rendezvous(serve, mount_rendezvous(mount), "farewell", err);
	if (r == 0)
		r = successor_clones(serve, init->resends, err);
	return r < 0 ? r : keep_put(serve->keep, serve->mount_fd, err, "fuse");
}
