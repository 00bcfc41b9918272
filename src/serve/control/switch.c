/* SPDX-License-Identifier: MIT */
/* Switches in these steps, whose order makes a switch atomic:
 *
 *   current = new          from here on the new version answers LOOKUPs in the root and listings of it
 *   generations_wait()     no worker answers from the old version any more; over the ring, answers may be under way
 *   an entry of the root   invalidating it takes the root's lock, and so waits for those answers and until the kernel
 *                          is done with lookups and listings of the root that were answered before
 *   a new epoch            the kernel asks for every name again (older kernels: the root's names are dropped singly)
 *   the root's inode       the kernel drops its attributes and cached listing
 *   announced = new        .datasetfs/version shows the new version; from here on no name of the old one is found
 *   clients_switched()     tells programs that read past the mount
 *
 * Nodes of the old version have other numbers, so an open file keeps its content. */
#include "serve/control/switch.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/program/step.h"
#include "serve/clients/clients.h"
#include "serve/control/announce.h"
#include "serve/control/prune.h"
#include "serve/recovery/recovery.h"
#include "serve/successor/successor.h"

/* Makes a version the one that answers names in the root. A successor goes on from the note in the record. */
static void switch_set(struct serve *serve, struct generation *generation)
{
	atomic_store(&serve->recovery->current, generation->key);
	step("switch-noted");
	atomic_store(&serve->generations.current, generation);
	step("switch-current");
	generations_wait(&serve->generations);
	step("switch-waited");
}

static int switch_announce(struct serve *serve, struct generation *old, struct generation *generation,
			   struct error *err)
{
	struct error why = { 0 }, ignored = { 0 };
	int r = announce_switch(serve, old, generation, &why);

	if (r == 0) {
		step("switch-announced");
		atomic_store(&serve->generations.announced, generation);
		clients_switched(serve->clients, generation);
		step("switch-told");
		prune_left(serve, old);
		return 0;
	}
	/* A half-announced switch is worse than none, so make the old version current again, and announce as much of
	 * that as possible. */
	switch_set(serve, old);
	(void)!announce_switch(serve, generation, old, &ignored);
	prune_left(serve, generation);
	return error_pass(err, r, &why);
}

static void switch_log(const struct serve *serve, const struct generation *old, const struct generation *generation)
{
	const char *mountpoint = serve->options.mountpoint, *label = generation->opened.version.label;

	if (!memcmp(old->opened.version.uuid, generation->opened.version.uuid, sizeof(old->opened.version.uuid)))
		log_info("'%s' serves version '%s' where it is now, moved by compaction", mountpoint, label);
	else if (!strcmp(old->opened.version.label, label))
		log_info("'%s' serves version '%s', previously another one of this label", mountpoint, label);
	else
		log_info("'%s' serves version '%s', previously '%s'", mountpoint, label, old->opened.version.label);
}

/* Announces the version that is current, and counts the switch. */
static int switch_complete(struct serve *serve, struct generation *old, struct error *err)
{
	struct generation *generation = serve_current(serve);
	int r = switch_announce(serve, old, generation, err);

	if (r < 0)
		return r;
	atomic_fetch_add(&serve->history.switches, 1);
	atomic_store(&serve->history.serving_since, (uint64_t)time(NULL));
	if (atomic_load(&old->fate) != GENERATION_THERE)
		atomic_store(&serve->history.outdated_until, (uint64_t)time(NULL));
	if (serve->generations.prepared == generation)
		serve->generations.prepared = NULL;
	step("switch-counted");
	successor_served(serve);
	step("switch-served");
	switch_log(serve, old, generation);
	return 0;
}

int switch_to(struct serve *serve, struct generation *generation, struct error *err)
{
	struct generation *old = serve_current(serve);

	if (old == generation)
		return 0;
	prune_cancel(serve->prune);
	switch_set(serve, generation);
	return switch_complete(serve, old, err);
}

int switch_finish(struct serve *serve, struct error *err)
{
	struct generation *old = atomic_load(&serve->generations.announced);

	return old == serve_current(serve) ? 0 : switch_complete(serve, old, err);
}
