/* SPDX-License-Identifier: MIT */
/* datasetfsctl top: looks at mounts repeatedly and shows their activity. Its one thread waits for answers, keys and the
 * clock, but never for a mount. */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/interrupt.h"
#include "base/program/output.h"
#include "mounts/watch.h"
#include "text.h"
#include "top/batch.h"
#include "top/page.h"
#include "top/screen.h"
#include "verb.h"

#define TOP_FDS      1024               /* mounts whose answers wake us; the others are read at the next tick */
#define TOP_PATIENCE INT64_C(500000000) /* ns after which a mount that has not answered is shown as silent */
#define TOP_WIDTH    132                /* columns of text output without a terminal or COLUMNS */

struct top_options {
	struct verb_options verb;
	unsigned interval; /* seconds */
	unsigned sort;     /* enum table_sort */
	unsigned samples;  /* 0: a terminal */
};

struct top {
	const struct top_options *options;
	struct watch watch;
	struct page page;
	size_t first; /* line below the head */
	enum table_sort sort;
	uint64_t shown; /* rounds shown so far */
	int64_t next;   /* question, ns, monotonic */
	int64_t settle; /* mounts that have not answered by then are silent; 0: all is shown */
	bool done;
};

static const struct option_spec top_table[] = {
	{ "interval", 'i', "SECONDS", OPTION_NUMBER(struct top_options, interval, 1, 3600),
	  "between two looks, default 1" },
	{ "sort", 's', "COLUMN",
	  OPTION_WORD(struct top_options, sort, "files", "data", "latency", "reads", "cpu", "stalls", "mount"),
	  "files, data, latency, reads, cpu, stalls or mount" },
	{ "batch", 'b', "N", OPTION_NUMBER(struct top_options, samples, 1, UINT32_MAX),
	  "print N samples as text, for scripts" },
	{ "json", 0, NULL, OPTION_TRUE(struct top_options, verb.json), "with --batch: a JSON object for each sample" },
	{ 0 }
};

const struct command_line top_line = {
	.program = "datasetfsctl top",
	.usage = "[MNT]...",
	.operands = { 0, OPERANDS_ANY },
	.summary = "Watch what mounts do, second by second.\n"
		   "Without MNT: all mounts of datasetfs on this machine.",
	.options = top_table,
};

/* ---- output ---- */

static unsigned top_width(const struct top *top)
{
	const char *columns = getenv("COLUMNS");
	int width = columns ? atoi(columns) : 0;

	if (!top->options->samples)
		return screen_width();
	return width >= TABLE_WIDTH_MIN && width <= TABLE_WIDTH_MAX ? (unsigned)width : TOP_WIDTH;
}

static int top_print(struct top *top, const struct page_query *query, struct error *err)
{
	/* the first look has no earlier one to compare with */
	if (top->shown == 1)
		return 0;
	if (top->options->verb.json)
		batch_json(&top->watch, query, stdout);
	else
		batch_text(&top->page, stdout);
	top->done = top->shown > top->options->samples;
	return output_flush(err);
}

static void top_draw(struct top *top)
{
	size_t body = top->page.count - top->page.head, rows = screen_rows(&top->page);
	size_t last = body > rows ? body - rows : 0;

	if (top->first > last)
		top->first = last;
	screen_draw(&top->page, top->first);
}

static int top_show(struct top *top, struct error *err)
{
	const struct page_query query = { top_width(top), top->options->interval, top->sort, (int64_t)time(NULL) };
	int r = page_make(&top->watch, &query, &top->page, err);

	if (r < 0)
		return r;
	if (top->options->samples)
		return top_print(top, &query, err);
	top_draw(top);
	return 0;
}

/* ---- keys ---- */

/* Handles a key. True: the view has changed. */
static bool top_press(struct top *top, enum screen_key key)
{
	switch (key) {
	case SCREEN_QUIT:
		top->done = true;
		return false;
	case SCREEN_SORT:
		top->sort = (top->sort + 1) % TABLE_SORTS;
		return true;
	case SCREEN_UP:
		top->first -= top->first > 0;
		return true;
	case SCREEN_DOWN:
		top->first++;
		return true;
	case SCREEN_RESIZED:
		return true;
	default:
		return false;
	}
}

static int top_keys(struct top *top, struct error *err)
{
	enum screen_key key;
	bool changed = false;

	while (!top->done && (key = screen_key()) != SCREEN_NONE)
		changed = top_press(top, key) || changed;
	return changed && !top->done ? top_show(top, err) : 0;
}

/* ---- rounds ---- */

/* Asks all mounts if it is time. Overdue rounds are skipped. */
static int top_ask(struct top *top, int64_t now, struct error *err)
{
	int64_t interval = (int64_t)top->options->interval * 1000000000;

	if (now < top->next)
		return 0;
	top->next += (1 + (now - top->next) / interval) * interval;
	top->settle = now + TOP_PATIENCE;
	return watch_ask(&top->watch, err);
}

static int top_take(struct top *top, struct error *err)
{
	bool all = watch_take(&top->watch);

	if (!top->settle || (!all && clock_now() < top->settle))
		return 0;
	watch_settle(&top->watch);
	top->settle = 0;
	top->shown++;
	return top_show(top, err);
}

static int top_wait(struct top *top, struct error *err)
{
	struct pollfd fds[TOP_FDS + 1];
	size_t count = watch_fds(&top->watch, fds, TOP_FDS);
	int64_t now = clock_now(), until = top->settle && top->settle < top->next ? top->settle : top->next;
	int r;

	if (!top->options->samples)
		fds[count] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	r = interrupt_poll(fds, count + !top->options->samples, until > now ? until - now : 0, err);
	if (r == 0 && !top->options->samples && fds[count].revents & (POLLHUP | POLLERR | POLLNVAL))
		top->done = true;
	return r;
}

static int top_watch(struct top *top, struct error *err)
{
	int r = 0;

	top->next = clock_now();
	while (r == 0 && !top->done) {
		r = top_ask(top, clock_now(), err);
		if (r == 0)
			r = top_take(top, err);
		if (r == 0 && !top->options->samples)
			r = top_keys(top, err);
		if (r == 0 && !top->done)
			r = top_wait(top, err);
	}
	return r;
}

/* Runs the view, and restores the terminal before an error message is printed or a signal ends the program. */
static int top_go(struct top *top, char **names, size_t count, struct error *err)
{
	int r = watch_open(&top->watch, names, count, err);

	if (r == 0 && !top->options->samples)
		r = screen_open(err);
	if (r == 0)
		r = top_watch(top, err);
	screen_close();
	page_free(&top->page);
	watch_close(&top->watch);
	return r;
}

int top_run(int argc, char **argv)
{
	struct top_options options = { .interval = 1 };
	struct top top = { .options = &options };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&top_line, argc, argv, &options, &operands, &status))
		return status;
	if (options.verb.json && !options.samples) {
		log_err("top: --json needs --batch N");
		return VERB_USAGE;
	}
	top.sort = (enum table_sort)options.sort;
	if (!text_enter_locale())
		setlocale(LC_CTYPE, "C"); /* the terminal gets question marks for what it cannot show */
	descriptors_raise_limit();
	interrupt_install();
	r = top_go(&top, argv + 1, (size_t)operands, &err);
	if (r == 0)
		return VERB_DONE;
	interrupt_end();
	log_error(&err, "cannot watch");
	return VERB_FAILED;
}
