/* SPDX-License-Identifier: MIT */
/* Adds up the bytes in the groups that the version uses, as datasetfsctl list does. */
#include "serve/dotdir/protection.h"

#include <stdarg.h>
#include <stdio.h>

#include "datasetfs/control.h"
#include "image/members/members.h"

struct protection {
	uint64_t bytes, copied, single; /* bytes of all its groups; of those written with copies; with one copy left */
};

/* Whether a member is missing or stale. The control thread clears that when the member is back. */
static bool protection_is_missing(const struct serve *serve, const struct members *members, uint32_t number)
{
	return members_missing_from(members, number) || serve_is_missing(serve, number);
}

/* The number of copies that can be read now. Reads still try a member that was lost while the mount serves, as it may
 * come back, but its copies do not count here. */
static uint32_t protection_copies(const struct serve *serve, const struct members *members, uint64_t address)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = members_copies(members, address, copies), there = 0;

	for (uint32_t i = 0; i < count; i++)
		there += !serve_is_missing(serve, address_member(copies[i]));
	return there;
}

static void protection_add(const struct serve *serve, const struct members *members, uint64_t address,
			   struct protection *protection)
{
	const struct member_group *group = members_group(members, address);
	uint64_t bytes = group ? group->tail : 0;

	protection->bytes += bytes;
	protection->copied += group && group->redundant ? bytes : 0;
	protection->single += protection_copies(serve, members, address) <= 1 ? bytes : 0;
}

static struct protection protection_measure(const struct serve *serve, const struct members *members,
					    const struct extent_list *segments)
{
	uint64_t segment = UINT64_C(1) << members->segment_log;
	struct protection protection = { 0 };

	for (uint32_t i = 0; i < segments->count; i++)
		for (uint64_t at = 0; at < segments->items[i].length; at += segment)
			protection_add(serve, members, segments->items[i].address + at, &protection);
	return protection;
}

/* Rounds so that only a whole is 100 and only nothing is 0. */
static unsigned protection_percent(uint64_t part, uint64_t all)
{
	unsigned percent = all ? (unsigned)((double)part * 100 / (double)all) : 0;

	return part && !percent ? 1 : percent;
}

__attribute__((format(printf, 3, 4))) static size_t protection_say(char *text, size_t used, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text + used, 256 - used, format, arguments);
	va_end(arguments);
	return n < 0 || used + (size_t)n >= 256 ? 255 : used + (size_t)n;
}

/* Writes which members are missing, and the effect, to text, which has 256 bytes. False: none is missing. */
static bool protection_explain(const struct serve *serve, const struct members *members, unsigned single, char *text)
{
	uint32_t missing = 0;
	size_t used = 0;

	for (uint32_t i = 0; i < members->count; i++)
		if (protection_is_missing(serve, members, i))
			used = protection_say(text, used, "%s%u", missing++ ? ", " : "member ", i);
	protection_say(text, used, " missing, %u %% of this version has one copy left", single);
	return missing;
}

bool protection_look(struct serve *serve, struct protection_report *ret)
{
	const struct generation *generation = serve_current(serve);
	const struct members *members = &generation->opened.index->members;
	struct protection protection;

	if (!members->count)
		return false;
	protection = protection_measure(serve, members, &generation->opened.version.segments);
	ret->protected_percent = protection_percent(protection.copied, protection.bytes);
	ret->single_percent = protection_percent(protection.single, protection.bytes);
	ret->is_degraded = protection_explain(serve, members, ret->single_percent, ret->degraded);
	return true;
}

void protection_write(struct serve *serve, struct json *json)
{
	struct protection_report report;

	if (!protection_look(serve, &report)) {
		json_null(json, DSFS_CONTROL_PROTECTION);
		return;
	}
	json_begin_object(json, DSFS_CONTROL_PROTECTION);
	json_number(json, DSFS_CONTROL_PROTECTED_PERCENT, report.protected_percent);
	json_number(json, DSFS_CONTROL_SINGLE_PERCENT, report.single_percent);
	if (report.is_degraded)
		json_string(json, DSFS_CONTROL_DEGRADED, report.degraded);
	else
		json_null(json, DSFS_CONTROL_DEGRADED);
	json_end_object(json);
}
