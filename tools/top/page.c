/* SPDX-License-Identifier: MIT */
/* Writes header, rows and problems, line by line. */
#include "top/page.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "status/health.h"

void page_free(struct page *page)
{
	free(page->lines);
	*page = (struct page){ 0 };
}

static struct page_line *page_add(struct page *page, enum page_style style)
{
	struct page_line *line;

	if (grow(page->lines, page->room, page->count + 1, NULL) < 0)
		return NULL;
	line = page->lines + page->count++;
	*line = (struct page_line){ .style = style };
	return line;
}

static bool page_say(struct page *page, enum page_style style, unsigned width, const char *fmt, ...) printf_like(4, 5);
static bool page_say(struct page *page, enum page_style style, unsigned width, const char *fmt, ...)
{
	struct page_line *line = page_add(page, style);
	char words[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	if (line)
		table_cut(words, width, line->text);
	return line;
}

/* Returns whether the mount has a problem. One that has not answered yet may be healthy; the state of one that the
 * kernel serves is not known. */
static bool page_is_wrong(const struct watch_mount *mount, int64_t now)
{
	return mount->state >= WATCH_ANSWERS && strcmp(table_state(mount, now), "ok") != 0;
}

/* ---- the head ---- */

struct page_totals {
	size_t mounts, wrong;
	double files, bytes, device; /* per second */
};

static struct page_totals page_totals(const struct watch *watch, int64_t now)
{
	struct page_totals totals = { .mounts = watch->count };

	for (size_t i = 0; i < watch->count; i++) {
		const struct watch_mount *mount = watch->mounts[i];

		totals.wrong += page_is_wrong(mount, now);
		if (!mount->has_rates || mount->rates.seconds <= 0)
			continue;
		totals.files += mount->rates.files_per_second;
		totals.bytes += mount->rates.bytes_per_second;
		totals.device += mount->rates.device_bytes_per_second;
	}
	return totals;
}

static bool page_head(struct page *page, const struct watch *watch, const struct page_query *query)
{
	struct page_totals totals = page_totals(watch, query->now);
	time_t now = (time_t)query->now;
	struct tm tm = { 0 };

	localtime_r(&now, &tm);
	return page_say(page, PAGE_PLAIN, query->width,
			"datasetfsctl top  %02d:%02d:%02d  %zu mount%s, %zu with trouble  every %u s, by %s",
			tm.tm_hour, tm.tm_min, tm.tm_sec, totals.mounts, totals.mounts == 1 ? "" : "s", totals.wrong,
			query->interval, table_sorts[query->sort]) &&
	       page_say(page, PAGE_PLAIN, query->width, "all: %.0f files/s, %.1f MB/s, %.1f MB/s from devices",
			totals.files, totals.bytes / 1e6, totals.device / 1e6) &&
	       page_say(page, PAGE_PLAIN, query->width, "%s", "");
}

static bool page_titles(struct page *page, const struct page_query *query)
{
	for (unsigned i = 0; i < 2; i++) {
		struct page_line *line = page_add(page, PAGE_HEAD);

		if (!line)
			return false;
		table_head(query->width, i, line->text);
	}
	page->head = page->count;
	return true;
}

/* ---- the mounts ---- */

static bool page_troubles(struct page *page, const struct watch_mount *mount, const struct page_query *query)
{
	struct health_trouble trouble;
	bool done = true;

	if (mount->state > WATCH_ANSWERS)
		return page_say(page, PAGE_WRONG, query->width, "  %s", mount->reason);
	for (size_t i = 0; done && mount->state == WATCH_ANSWERS &&
			   health_trouble(&mount->stats, mount->mounted.point, query->now, i, &trouble);
	     i++)
		done = page_say(page, PAGE_WRONG, query->width, "  %s: %s", trouble.word, trouble.text);
	return done;
}

static bool page_mount(struct page *page, const struct watch_mount *mount, const struct page_query *query)
{
	struct page_line *line = page_add(page, page_is_wrong(mount, query->now) ? PAGE_WRONG : PAGE_PLAIN);

	if (!line)
		return false;
	table_row(mount, query->now, query->width, line->text);
	return page_troubles(page, mount, query);
}

int page_make(struct watch *watch, const struct page_query *query, struct page *page, struct error *err)
{
	enum table_sort sort = query->sort;
	bool done;

	if (watch->count)
		qsort_r(watch->mounts, watch->count, sizeof(*watch->mounts), table_compare, &sort);
	page->count = 0;
	done = page_head(page, watch, query) && page_titles(page, query);
	for (size_t i = 0; done && i < watch->count; i++)
		done = page_mount(page, watch->mounts[i], query);
	if (done && !watch->count)
		done = page_say(page, PAGE_PLAIN, query->width, "no mount of datasetfs on this machine");
	return done ? 0 : error_no_memory(err);
}
