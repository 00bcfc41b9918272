/* SPDX-License-Identifier: MIT */
/* Reads the superblocks of all members at every check, and the catalogue only if it has changed. */
#include "serve/control/follow.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "serve/control/switch.h"
#include "serve/health/watchdog.h"
#include "serve/opening/mounted.h"
#include "serve/opening/open.h"
#include "serve/recovery/recovery.h"
#include "trust/statement.h"
#include "trust/trust.h"

#define FOLLOW_PERIOD 30 /* seconds between two checks of a mount that does not follow */

static pthread_mutex_t follow_lock = PTHREAD_MUTEX_INITIALIZER; /* protects history.follow_failure */

static int64_t follow_next(const struct serve *serve)
{
	unsigned period = serve->options.follow;

	return clock_now() + (int64_t)(period ? period : FOLLOW_PERIOD) * 1000000000;
}

int64_t follow_begin(struct serve *serve, struct follow *follow)
{
	const uint8_t *pointed =
		serve->adopts ? recovery_pointed(serve->recovery) : serve_current(serve)->opened.version.uuid;

	memcpy(follow->pointed, pointed, sizeof(follow->pointed));
	recovery_set_pointed(serve->recovery, follow->pointed);
	return follow_next(serve);
}

/* The version to switch to: the volume's current version, if it has just become current, so that other commits do not
 * undo a switch by hand; otherwise the served version, if compaction moved it. NULL: no switch is due. */
static const struct version *follow_goal(struct serve *serve, const struct follow *follow,
					 const struct catalogue *catalogue)
{
	const struct generation *served = serve_current(serve);
	const struct version *current = catalogue_current(catalogue), *copy;

	if (current && memcmp(current->uuid, follow->pointed, sizeof(follow->pointed)) != 0)
		return current;
	copy = catalogue_by_uuid(catalogue, served->opened.version.uuid);
	return copy && copy->sequence != served->sequence ? copy : NULL;
}

/* A switch by hand may go back to an older version, following does not. */
static int follow_check(struct serve *serve, const char *label, const struct trust_signer *signer, struct error *err)
{
	const struct generation *served = serve_current(serve);

	return statement_check_date((struct statement_dated){ label, signer->date },
				    (struct statement_dated){ served->opened.version.label, served->signer.date },
				    "use 'datasetfsctl switch'", err);
}

/* Checks the date before the version is loaded, and once more afterwards, as the catalogue is read again. */
static int follow_open(struct serve *serve, const struct version *goal, struct generation **ret, struct error *err)
{
	struct open_target target = { .uuid = goal->uuid };
	struct trust_signer signer;
	int r = trust_check(&serve->options.trust, goal, serve->volume.uuid, &signer, err);

	if (r == 0)
		r = follow_check(serve, goal->label, &signer, err);
	if (r == 0)
		r = open_version(serve, &target, ret, err);
	return r < 0 ? r : follow_check(serve, (*ret)->opened.version.label, &(*ret)->signer, err);
}

static int follow_go(struct serve *serve, const struct version *goal, struct error *err)
{
	struct generation *generation;
	int r = follow_open(serve, goal, &generation, err);

	return r < 0 ? r : switch_to(serve, generation, err);
}

static int follow_act(struct serve *serve, struct follow *follow, const struct superblock *super,
		      const struct catalogue *catalogue, struct error *err)
{
	const struct version *current = catalogue_current(catalogue), *goal = follow_goal(serve, follow, catalogue);
	int r = goal && serve->options.follow ? follow_go(serve, goal, err) : 0;

	if (r < 0)
		return r;
	memcpy(follow->acted, super->catalogue_sha256, sizeof(follow->acted));
	if (current) {
		memcpy(follow->pointed, current->uuid, sizeof(follow->pointed));
		recovery_set_pointed(serve->recovery, follow->pointed);
	}
	return 0;
}

static bool follow_has_acted(const struct follow *follow, const struct superblock *super)
{
	return !memcmp(super->catalogue_sha256, follow->acted, sizeof(follow->acted));
}

static int follow_try(struct serve *serve, struct follow *follow, struct error *err)
{
	uint64_t seen = atomic_load(&serve->volume.newest);
	struct catalogue catalogue = { 0 };
	struct superblock super;
	int r = catalogue_load_newest(&serve->volume.array->source, &super, err);

	if (r == 0)
		r = mounted_check(serve, &super, seen, err);
	if (r < 0 || follow_has_acted(follow, &super))
		return r;
	r = mounted_read(serve, &super, &catalogue, err);
	if (r == 0 && !follow_has_acted(follow, &super)) /* equal if too few members show the newest one */
		r = follow_act(serve, follow, &super, &catalogue, err);
	catalogue_free(&catalogue);
	return r;
}

static void follow_tell(struct serve *serve, const char *why)
{
	struct serve_history *history = &serve->history;

	pthread_mutex_lock(&follow_lock);
	snprintf(history->follow_failure, sizeof(history->follow_failure), "%s", why);
	pthread_mutex_unlock(&follow_lock);
}

bool follow_fails(const struct serve *serve, char *text, size_t size)
{
	int length;

	pthread_mutex_lock(&follow_lock);
	length = snprintf(text, size, "%s", serve->history.follow_failure);
	pthread_mutex_unlock(&follow_lock);
	return length > 0;
}

static void follow_current(struct serve *serve, struct follow *follow)
{
	static struct log_limit limit = { .burst = 2 };
	struct error err = { 0 };
	unsigned suppressed;
	int r = follow_try(serve, follow, &err);

	follow_tell(serve, r < 0 ? err.reason : "");
	if (r < 0 && log_allow(&limit, &suppressed))
		log_error(&err, "cannot follow the volume's current version, trying again");
}

/* Checks for a mount that does not follow. Nothing depends on it, so it is skipped while the device hangs. */
static void follow_glance(struct serve *serve, struct follow *follow)
{
	struct error err = { 0 };

	if (!watchdog_stalls(serve->watchdog).since && follow_try(serve, follow, &err) < 0)
		log_debug("cannot look at the catalogue: %s", err.reason);
}

int64_t follow_look(struct serve *serve, struct follow *follow)
{
	if (serve->options.follow)
		follow_current(serve, follow);
	else
		follow_glance(serve, follow);
	return follow_next(serve);
}
