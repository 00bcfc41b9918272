/* SPDX-License-Identifier: MIT */
/* Logs once what became of a version, which mounted_read() notes whenever a thread reads the catalogue. The space of a
 * removed version is overwritten sooner or later; its chunks then fail their checks like damaged ones. */
#include "serve/control/stale.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "serve/control/follow.h"
#include "serve/damage.h"
#include "serve/opening/mounted.h"
#include "serve/serve.h"

#define STALE_PERIOD INT64_C(60000000000) /* ns between two checks for the same version */

static void stale_report(const struct serve *serve, const struct generation *generation,
			 const struct catalogue *catalogue)
{
	const struct version *copy = catalogue_by_uuid(catalogue, generation->opened.version.uuid);

	if (catalogue_holds(catalogue, generation->sequence, generation->opened.version.uuid))
		return;
	if (copy)
		log_err("version '%s' was moved on the volume by compaction and its old space is used again: "
			"switch '%s' to '%s', sequence=%" PRIu64 " now=%" PRIu64,
			generation->opened.version.label, serve->options.mountpoint, copy->label, generation->sequence,
			copy->sequence);
	else
		log_err("version '%s' was removed from the volume and its space is used again: "
			"switch '%s' to another one, sequence=%" PRIu64,
			generation->opened.version.label, serve->options.mountpoint, generation->sequence);
}

static void stale_look(struct serve *serve, const struct generation *generation)
{
	struct catalogue catalogue = { 0 };
	struct superblock super = { 0 };
	struct error err = { 0 };
	int r = mounted_read(serve, &super, &catalogue, &err);

	if (r == 0)
		stale_report(serve, generation, &catalogue);
	else if (mounted_is_other(serve, &super))
		log_error(&err, "version '%s' is lost, unmount '%s'", generation->opened.version.label,
			  serve->options.mountpoint);
	else
		log_error(&err, "cannot find out whether version '%s' is still on the volume",
			  generation->opened.version.label);
	catalogue_free(&catalogue);
}

static void stale_look_soon(struct serve *serve, struct generation *generation)
{
	if (!atomic_exchange(&generation->maybe_stale, false) ||
	    (generation->looked_at && clock_now() - generation->looked_at < STALE_PERIOD))
		return;
	generation->looked_at = clock_now();
	stale_look(serve, generation);
}

/* A mount that follows will switch to the moved version by itself. */
const char *stale_word(struct serve *serve)
{
	static const char *const words[] = { NULL, "removed", "moved", "reformatted" };
	enum generation_fate fate = atomic_load(&serve_current(serve)->fate);

	if (fate == GENERATION_MOVED && serve->options.follow && !follow_fails(serve, NULL, 0))
		return NULL;
	return words[fate];
}

static void stale_tell(struct serve *serve, struct generation *generation)
{
	enum generation_fate fate = atomic_load(&generation->fate);

	if (fate == generation->told)
		return;
	generation->told = fate;
	if (fate != GENERATION_THERE)
		damage_forget(serve->damage, generation);
	if (generation == serve_current(serve) && stale_word(serve))
		log_warn("version '%s' is no longer on the volume (%s): reads are right until its space is reused, "
			 "switch '%s', sequence=%" PRIu64,
			 generation->opened.version.label, stale_word(serve), serve->options.mountpoint,
			 generation->sequence);
}

void stale_settle(struct serve *serve)
{
	struct generation *generation;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (!generation)
			continue;
		stale_look_soon(serve, generation);
		stale_tell(serve, generation);
	}
}
