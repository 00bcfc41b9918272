/* SPDX-License-Identifier: MIT */
/* A switch is atomic because of these steps, in this order:
 *
 *   current = new          from here on the new version answers LOOKUPs in the root and listings of it
 *   generations_wait()     no worker answers from the old version any more; over the ring, answers may be under way
 *   an entry of the root   its lock waits for those, and until the kernel is done with lookups and listings of the
 *                          root that were answered before
 *   a new epoch            every name is asked for again (or, on older kernels, the root's are forgotten one by one)
 *   the root's inode       its attributes and cached listing go
 *   announced = new        .datasetfs/version says so: whoever waits for that finds no name of the old version any more
 *   clients_switched()     those who read past the mount are told
 *
 * Nodes of the old version have other numbers, so what is open stays what it was. */
#include "serve/control/switch.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "serve/clients/clients.h"
#include "serve/control/announce.h"
#include "serve/control/prune.h"

static int switch_current(struct serve *serve, struct generation *generation, struct error *err)
{
	struct generation *old = serve_current(serve);
	struct error why = { 0 }, ignored = { 0 };
	int r;

	prune_cancel(serve->prune);
	atomic_store(&serve->generations.current, generation);
	generations_wait(&serve->generations);
	r = announce_switch(serve, old, generation, &why);
	if (r == 0) {
		atomic_store(&serve->generations.announced, generation);
		clients_switched(serve->clients, generation);
		prune_left(serve, old);
		return 0;
	}
	/* A switch that is half announced is worse than none: the old version becomes current again, and as much of
	 * that as possible is announced. */
	atomic_store(&serve->generations.current, old);
	generations_wait(&serve->generations);
	(void)!announce_switch(serve, generation, old, &ignored);
	prune_left(serve, generation);
	return error_pass(err, r, &why);
}

static void switch_log(const struct serve *serve, const struct generation *old, const struct generation *generation)
{
	const char *mountpoint = serve->options.mountpoint, *label = generation->version.label;

	if (!memcmp(old->version.uuid, generation->version.uuid, sizeof(old->version.uuid)))
		log_info("'%s' serves version '%s' where it is now, moved by compaction", mountpoint, label);
	else if (!strcmp(old->version.label, label))
		log_info("'%s' serves version '%s', previously another one of this label", mountpoint, label);
	else
		log_info("'%s' serves version '%s', previously '%s'", mountpoint, label, old->version.label);
}

int switch_to(struct serve *serve, struct generation *generation, struct error *err)
{
	struct generation *old = serve_current(serve);
	int r;

	if (old == generation)
		return 0;
	r = switch_current(serve, generation, err);
	if (r < 0)
		return r;
	atomic_fetch_add(&serve->switches, 1);
	atomic_store(&serve->serving_since, (uint64_t)time(NULL));
	if (atomic_load(&old->fate) != GENERATION_THERE)
		atomic_store(&serve->outdated_until, (uint64_t)time(NULL));
	if (serve->generations.prepared == generation)
		serve->generations.prepared = NULL;
	switch_log(serve, old, generation);
	return 0;
}
