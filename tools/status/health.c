/* SPDX-License-Identifier: MIT */
/* Checks for problems with one function per kind, the worst first. */
#include "status/health.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/format.h"
#include "text.h"

#define HEALTH_RECENT 300 /* seconds in which a failed read is a problem, as for the alerts */

struct health_mount {
	const struct reported_stats *stats;
	const char *point;
	int64_t now;
};

#define HEALTH_SAY(TEXT, ...) (snprintf(TEXT, HEALTH_TEXT_SIZE, __VA_ARGS__), true)

static bool health_outdated(const struct health_mount *mount, char *text)
{
	const char *label = mount->stats->label, *why = mount->stats->outdated;

	if (!*why)
		return false;
	if (!strcmp(why, "reformatted"))
		return HEALTH_SAY(text, "the volume was formatted anew, '%s' is lost: unmount '%s'", label,
				  mount->point);
	if (!strcmp(why, "moved"))
		return HEALTH_SAY(text, "'%s' is no longer on the volume here, it was moved by compaction: "
				  "'datasetfsctl switch %s %s'", label, mount->point, label);
	return HEALTH_SAY(text, "'%s' is no longer on the volume: 'datasetfsctl switch %s' goes to the current version",
			  label, mount->point);
}

static bool health_stalled(const struct health_mount *mount, char *text)
{
	int64_t since = (int64_t)mount->stats->stalled_since, waited = mount->now - since;
	char when[TEXT_TIME_SIZE];

	if (!since)
		return false;
	return HEALTH_SAY(text, "reads have waited for the device for %" PRId64 " s, since %s UTC",
			  waited < 0 ? 0 : waited, text_time(since, when));
}

static bool health_degraded(const struct health_mount *mount, char *text)
{
	if (*mount->stats->degraded)
		return HEALTH_SAY(text, "%s", mount->stats->degraded);
	if (!mount->stats->missing)
		return false;
	return HEALTH_SAY(text, "%" PRIu32 " of %" PRIu32 " members missing", mount->stats->missing,
			  mount->stats->members);
}

static bool health_suspect(const struct health_mount *mount, char *text)
{
	const struct reported_stats *stats = mount->stats;

	if (!stats->suspect)
		return false;
	if (stats->suspect == 1)
		return HEALTH_SAY(text, "member %" PRIu32 " is silent or fails, a copy is read where there is one",
				  stats->first_suspect);
	return HEALTH_SAY(text,
			  "%" PRIu32 " members are silent or fail, %" PRIu32 " is the first; copies are read where "
			  "there are any",
			  stats->suspect, stats->first_suspect);
}

static bool health_truncated(const struct health_mount *mount, char *text)
{
	const struct reported_stats *stats = mount->stats;
	char size[SIZE_TEXT_SIZE], opened[SIZE_TEXT_SIZE], what[32] = "the volume";

	if (!stats->truncated.opened)
		return false;
	if (stats->members)
		snprintf(what, sizeof(what), "member %" PRIu64, stats->truncated.member);
	return HEALTH_SAY(text, "%s is shorter than when it was mounted (%s of %s)", what,
			  format_size(stats->truncated.size, size), format_size(stats->truncated.opened, opened));
}

static bool health_damaged(const struct health_mount *mount, char *text)
{
	if (!mount->stats->damaged)
		return false;
	return HEALTH_SAY(text, "%" PRIu64 " place%s, see %s/" DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_DAMAGE,
			  mount->stats->damaged, mount->stats->damaged == 1 ? "" : "s", mount->point);
}

/* Describes a mount with follow= that keeps an older version, as it refuses the current one or cannot read it. */
static bool health_behind(const struct health_mount *mount, char *text)
{
	if (!*mount->stats->behind || *mount->stats->outdated) /* that is why */
		return false;
	return HEALTH_SAY(text, "the current version is not taken: %s", mount->stats->behind);
}

static uint64_t health_failures(const struct reported_stats *stats)
{
	return stats->read_failures + stats->client_read_failures;
}

static uint64_t health_device(const struct reported_stats *stats)
{
	return stats->device_errors + stats->client_device_errors;
}

static uint64_t health_sums(const struct reported_stats *stats)
{
	return stats->checksum_failures + stats->client_checksum_failures;
}

/* Formats ", the last 12 s ago". */
static const char *health_ago(uint64_t last, int64_t now, char text[64])
{
	int64_t seconds = now > (int64_t)last ? now - (int64_t)last : 0;
	char span[TEXT_SPAN_SIZE];

	snprintf(text, 64, ", the last %s ago", text_span((double)seconds, span));
	return text;
}

/* Returns whether a failure is still a problem. Failures of a version that was removed from the volume are over with
 * the switch to another one. */
static bool health_is_recent(const struct reported_stats *stats, uint64_t last, int64_t now)
{
	return last > stats->outdated_until && now - (int64_t)last < HEALTH_RECENT;
}

static bool health_failed(const struct health_mount *mount, char *text)
{
	const struct reported_stats *stats = mount->stats;
	uint64_t reads = health_failures(stats);
	char ago[64];

	if (!reads || !health_is_recent(stats, stats->last_failure, mount->now))
		return false;
	return HEALTH_SAY(text, "%" PRIu64 " read%s failed for good since the mount%s", reads, reads == 1 ? "" : "s",
			  health_ago(stats->last_failure, mount->now, ago));
}

/* Describes failures that did no harm: another copy answered, or the second try succeeded. */
static bool health_repeated(const struct health_mount *mount, char *text)
{
	const struct reported_stats *stats = mount->stats;
	char ago[64];

	if (!health_device(stats) && !health_sums(stats))
		return false;
	if (*stats->outdated || stats->truncated.opened) /* these explain the errors */
		return false;
	if (!health_is_recent(stats, stats->last_error, mount->now))
		return false;
	return HEALTH_SAY(text,
			  "%" PRIu64 " reads of the device failed, %" PRIu64 " sums did not match since the mount%s",
			  health_device(stats), health_sums(stats), health_ago(stats->last_error, mount->now, ago));
}

bool health_earlier(const struct reported_stats *stats, int64_t now, char text[HEALTH_TEXT_SIZE])
{
	uint64_t last = stats->last_failure > stats->last_error ? stats->last_failure : stats->last_error;
	uint64_t errors = health_device(stats) + health_sums(stats), reads = health_failures(stats);
	char ago[64];

	if ((!errors && !reads) || health_is_recent(stats, last, now))
		return false;
	health_ago(last, now, ago);
	if (reads)
		return HEALTH_SAY(text, "%" PRIu64 " read%s failed earlier%s", reads, reads == 1 ? "" : "s", ago);
	return HEALTH_SAY(text, "%" PRIu64 " error%s earlier%s", errors, errors == 1 ? "" : "s", ago);
}

static const struct {
	const char *word;
	bool (*tell)(const struct health_mount *mount, char *text);
} health_kinds[] = {
	{ "outdated", health_outdated },
	{ "stalled", health_stalled },
	{ "degraded", health_degraded },
	{ "suspect", health_suspect },
	{ "truncated", health_truncated },
	{ "damage", health_damaged },
	{ "failures", health_failed },
	{ "behind", health_behind },
	{ "errors", health_repeated },
};

bool health_trouble(const struct reported_stats *stats, const char *mount, int64_t now, size_t index,
		    struct health_trouble *ret)
{
	const struct health_mount of = { stats, mount, now };

	for (size_t i = 0; i < sizeof(health_kinds) / sizeof(*health_kinds); i++) {
		ret->word = health_kinds[i].word;
		if (health_kinds[i].tell(&of, ret->text) && !index--)
			return true;
	}
	return false;
}
