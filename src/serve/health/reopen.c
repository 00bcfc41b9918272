/* SPDX-License-Identifier: MIT */
/* Finds a lost member, checks it, and gives it the number of the old descriptor. Since the number stays, only rings
 * that have registered the descriptor need to be told. */
#include "serve/health/reopen.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text/format.h"
#include "device/locate.h"
#include "serve/cache/warmer.h"
#include "serve/clients/clients.h"
#include "serve/readahead/fetchers.h"
#include "serve/request/waiting.h"
#include "serve/serve.h"
#include "serve/successor/successor.h"

void reopen_request(struct serve *serve)
{
	if (!atomic_exchange(&serve->due.reopen, true))
		wake_up(&serve->wake);
}

/* Checks that this slot of an array has the member that belongs there. */
static int reopen_check(const struct serve *serve, struct array_source *array, uint32_t slot, struct error *err)
{
	const struct serve_volume *volume = &serve->volume;
	uint32_t block = array->geometry->logical_block, expected_block = volume->array->geometry->logical_block;
	char found[UUID_TEXT_SIZE], expected[UUID_TEXT_SIZE];
	struct superblock super;
	int r = superblock_find(&array->source, slot, &super, err);

	if (r < 0)
		return r;
	format_uuid(super.volume_uuid, found);
	format_uuid(volume->uuid, expected);
	if (strcmp(found, expected) != 0)
		return error_set(err, -ESTALE, "the volume there has the UUID %s, expected %s", found, expected);
	if (super.member != slot)
		return error_set(err, -ESTALE, "member %" PRIu32 " of the volume is there, expected %" PRIu32,
				 super.member, slot);
	if (super.sequence + (volume->array->count > 1) < volume->opened) /* one of several may lack the last one */
		return error_set(err, -ESTALE,
				 "the volume there is an older state, sequence=%" PRIu64 " expected=%" PRIu64,
				 super.sequence, volume->opened);
	if (block > expected_block)
		return error_set(err, -EINVAL, "the device there has logical blocks of %u bytes, expected %u", block,
				 expected_block);
	return 0;
}

void reopen_found(struct serve *serve, uint32_t slot)
{
	struct serve_volume *volume = &serve->volume;
	if (atomic_exchange(&volume->members[slot].is_lost, false) && volume->route)
		atomic_store(&volume->route->members[slot].failures, 0);
}

void reopen_renew(struct serve *serve, uint32_t slot)
{
	atomic_store(&serve->volume.members[slot].is_lost, false);
	if (serve->volume.route) /* the failures were those of another device */
		atomic_store(&serve->volume.route->members[slot].failures, 0);
	for (unsigned i = 0; i < serve->worker_count; i++)
		waiting_renew(serve->workers[i]);
	fetchers_each(serve, fetcher_renew);
	warmer_renew(serve->warmer);
	successor_member(serve, slot);
	clients_renew(serve->clients);
}

/* Finds the member by its identity, because another namespace may have its name by now. If several mappings lie on the
 * namespace, only the name says which one is meant. */
static int reopen_locate(const struct serve_member *member, char **ret, struct error *err)
{
	const char *name = atomic_load(&member->name);
	int r = locate_path(member->identity[0] ? member->identity : name, ret, err);

	return r == -EMLINK && !locate_is_identity(name) ? locate_path(name, ret, err) : r;
}

static int reopen_try(struct serve *serve, uint32_t slot, struct error *err)
{
	const struct serve_member *member = &serve->volume.members[slot];
	struct array_source *array = NULL;
	struct file_source *file;
	auto_free char *path = NULL;
	int r = array_new(serve->volume.array->count, &array, err);

	if (r == 0)
		r = reopen_locate(member, &path, err);
	if (r == 0)
		r = file_open(path, FILE_READ, &file, err);
	if (r == 0) {
		if (serve->volume.route)
			serve_be_patient(serve, slot, file);
		(void)array_put(array, slot, file);
		r = reopen_check(serve, array, slot, err);
	}
	if (r == 0)
		r = array_adopt(serve->volume.array, slot, file, err);
	if (r == 0) {
		(void)array_put(array, slot, NULL);
		reopen_renew(serve, slot);
	}
	array_close(array);
	if (r == 0)
		log_warn("%svolume '%s' was lost and is open again, as '%s'", serve_member_name(serve, slot).text,
			 serve->options.volume, path);
	return r;
}

static void reopen_settle_member(struct serve *serve, uint32_t slot)
{
	static struct log_limit limit = { .burst = 1 };
	struct error *reported = &serve->volume.members[slot].lost; /* a new reason is logged at once */
	struct error err = { 0 };
	unsigned suppressed;

	if (reopen_check(serve, serve->volume.array, slot, &err) == 0) {
		reopen_found(serve, slot);
		return;
	}
	err = (struct error){ 0 };
	serve_request_rejoin(serve);
	if (reopen_try(serve, slot, &err) == 0)
		return;
	atomic_store(&serve->volume.members[slot].is_lost, true);
	if (!strcmp(err.reason, reported->reason) && !log_allow(&limit, &suppressed))
		return;
	*reported = err;
	log_error(&err, "%svolume '%s' is lost, trying again", serve_member_name(serve, slot).text,
		  serve->options.volume);
}

bool reopen_must_wait(const struct serve *serve, uint32_t slot)
{
	const struct serve_volume *volume = &serve->volume;
	return volume->route && route_is_suspect(volume->route, slot, clock_now()) &&
	       atomic_load(&volume->route->members[slot].under_way);
}

void reopen_settle(struct serve *serve)
{
	if (!atomic_exchange(&serve->due.reopen, false))
		return;
	for (uint32_t i = 0; i < serve->volume.array->count; i++)
		if (array_has(serve->volume.array, i) && !reopen_must_wait(serve, i))
			reopen_settle_member(serve, i);
}
