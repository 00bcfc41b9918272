/* SPDX-License-Identifier: MIT */
/* Reads the record that serve/successor/successor.c has written, and takes the descriptors by their names. */
#include "serve/session/takeover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/program/step.h"
#include "serve/recovery/recovery.h"
#include "supervisor/keep.h"

/* ---- versions ---- */

static int takeover_adopt(struct serve *serve, const struct recovery_version *version, struct generation **ret,
			  struct error *err)
{
	uint64_t key = atomic_load(&version->key);
	auto_close int record = keep_take(serve->keep, "version.%" PRIu64, key);
	auto_close int index = keep_take(serve->keep, "index.%" PRIu64, key);
	int r;

	if (record < 0 || index < 0)
		return error_set(err, -EPROTO, "the former server left no %s of the version with the key %" PRIu64,
				 record < 0 ? "record" : "index", key);
	r = generation_adopt(&record, &index, key, ret, err);
	if (r < 0)
		return r;
	(*ret)->has_visitor = version->has_visitor;
	(*ret)->visitor = version->visitor;
	(*ret)->signer = version->signer;
	if ((*ret)->sequence == version->sequence &&
	    !memcmp((*ret)->opened.version.uuid, version->uuid, sizeof(version->uuid)))
		return 0;
	r = error_set(err, -EPROTO, "the version with the key %" PRIu64 " and sequence %" PRIu64
		      " has the sequence %" PRIu64 " in its own record", key, version->sequence, (*ret)->sequence);
	generation_put(*ret);
	return r;
}

static int takeover_version(struct serve *serve, const struct recovery_version *version, struct error *err)
{
	struct generation *generation;
	int r = takeover_adopt(serve, version, &generation, err);

	if (r < 0)
		return r;
	step("takeover-version");
	r = generations_add(&serve->generations, &generation, false, err);
	if (r < 0) {
		generation_put(generation);
		return r;
	}
	serve_note_members(serve, &generation->opened.index->members);
	return 0;
}

/* The record was checked: these keys are those of versions in it. */
static void takeover_history(struct serve *serve)
{
	const struct recovery_served *served = recovery_served(serve->recovery);
	struct generations *generations = &serve->generations;
	struct serve_history *history = &serve->history;

	atomic_store(&generations->current, generations_by_key(generations, atomic_load(&serve->recovery->current)));
	atomic_store(&generations->announced, generations_by_key(generations, served->key));
	generations->prepared = generations_by_key(generations, atomic_load(&serve->recovery->prepared));
	history->started = serve->recovery->started;
	atomic_store(&history->switches, served->switches);
	atomic_store(&history->serving_since, served->serving_since);
	atomic_store(&history->outdated_until, served->outdated_until);
}

int takeover_versions(struct serve *serve, struct error *err)
{
	int r = 0;

	generation_continue(atomic_load(&serve->recovery->next_key));
	for (uint32_t i = 0; r == 0 && i < RECOVERY_VERSIONS; i++)
		if (atomic_load(&serve->recovery->versions[i].key))
			r = takeover_version(serve, &serve->recovery->versions[i], err);
	if (r == 0)
		takeover_history(serve);
	/* The former server was about to open or had closed these. */
	keep_drop_left(serve->keep, "version.");
	keep_drop_left(serve->keep, "index.");
	return r;
}

/* ---- the mount ---- */

int takeover_mount(struct serve *serve, struct mount **ret, struct init *ret_init, struct error *err)
{
	const struct recovery *record = serve->recovery;
	struct mount_kept kept = { .device_major = record->device_major, .device_minor = record->device_minor,
				   .noted = record->noted };
	int fuse = keep_take(serve->keep, "fuse");
	auto_close int aborts = keep_take(serve->keep, "abort");

	if (fuse < 0)
		return error_set(err, -EPROTO, "the former server left no connection to the kernel");
	memcpy(kept.farewell_name, record->farewell_name, sizeof(kept.farewell_name));
	memcpy(kept.farewell_path, record->farewell_path, sizeof(kept.farewell_path));
	*ret_init = (struct init){ .minor = record->init_minor, .offered = record->init_offered,
				   .taken = record->init_taken, .ring = record->init_ring,
				   .resends = record->init_resends };
	atomic_store(&serve->may_store, aborts >= 0); /* the supervisor has it, too */
	return mount_adopt(record->mountpoint, record->source, &kept, fuse,
			   keep_take(serve->keep, "farewell-folder"), keep_take(serve->keep, "farewell"), ret, err);
}
