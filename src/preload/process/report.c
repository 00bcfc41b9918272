/* SPDX-License-Identifier: MIT */
/* Writes the line with one write(2), so that lines of several processes do not mix, and without memory or locks of the
 * C library, which a signal handler may have interrupted. */
#include "preload/process/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/utf8.h"
#include "lib/high.h"
#include "preload/process/inside.h"
#include "preload/process/next.h"
#include "preload/process/private.h"
#include "preload/process/settings.h"

#define REPORT_SIZE    8192u
#define REPORT_CALLERS 64u

struct report_caller {
	const char *_Atomic name; /* a constant; NULL: free */
	_Atomic uint64_t count;
};

/* The counts of one process; zero in a child. */
struct report_counts {
	_Atomic uint64_t opened, fetched, bytes, lost;
	_Atomic uint64_t unserved[REPORT_REASONS];
	struct report_caller callers[REPORT_CALLERS];
	_Atomic uint64_t other_callers;
};

static void *_Atomic report;
static void *_Atomic spare_line; /* for a process that has no memory left at its end; NULL while it is in use */

/* The first data set that was refused, and why. */
static char report_root[512], report_why[512];
static int report_fd = -1;

static struct report_counts *report_counts(void)
{
	return report;
}

void report_opened(void)
{
	atomic_fetch_add_explicit(&report_counts()->opened, 1, memory_order_relaxed);
}

void report_fetched(uint64_t bytes)
{
	atomic_fetch_add_explicit(&report_counts()->fetched, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&report_counts()->bytes, bytes, memory_order_relaxed);
}

void report_real(const char *caller)
{
	struct report_caller *callers = report_counts()->callers;
	const char *none;

	for (unsigned i = 0; i < REPORT_CALLERS; i++) {
		none = NULL;
		if (atomic_compare_exchange_strong(&callers[i].name, &none, caller) || !strcmp(none, caller)) {
			atomic_fetch_add_explicit(&callers[i].count, 1, memory_order_relaxed);
			return;
		}
	}
	atomic_fetch_add(&report_counts()->other_callers, 1);
}

void report_lost(void)
{
	atomic_fetch_add(&report_counts()->lost, 1);
}

void report_unserved(enum report_reason reason)
{
	atomic_fetch_add_explicit(&report_counts()->unserved[reason], 1, memory_order_relaxed);
}

void report_refused(const char *root, const char *why)
{
	if (*report_root)
		return;
	snprintf(report_why, sizeof(report_why), "%s", why);
	snprintf(report_root, sizeof(report_root), "%s", root);
}

/* --- the line --- */

struct report_line {
	char text[REPORT_SIZE];
	size_t length;
};

bool report_make(void)
{
	return private_new(&report, sizeof(struct report_counts)) &&
	       private_new(&spare_line, sizeof(struct report_line));
}

static struct report_line *report_take_line(void)
{
	struct report_line *line = atomic_exchange(&spare_line, NULL);

	if (line)
		return line;
	/* A signal handler may have a small stack. */
	line = mmap(NULL, sizeof(*line), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return line == MAP_FAILED ? NULL : line;
}

static void report_put_line(struct report_line *line)
{
	void *none = NULL;

	line->length = 0;
	if (!atomic_compare_exchange_strong(&spare_line, &none, line))
		munmap(line, sizeof(*line));
}

static void report_add(struct report_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds text, or leaves it out if it does not fit: the line is then no valid JSON, which shows it. */
static void report_add(struct report_line *line, const char *format, ...)
{
	va_list rest;
	int n;

	va_start(rest, format);
	n = vsnprintf(line->text + line->length, sizeof(line->text) - line->length, format, rest);
	va_end(rest);
	if (n > 0 && (size_t)n < sizeof(line->text) - line->length)
		line->length += (size_t)n;
}

/* Adds a string as base/text/json.h would, which needs memory. */
static void report_add_string(struct report_line *line, const char *key, const char *text)
{
	uint32_t ignored;

	report_add(line, "\"%s\": \"", key);
	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = utf8_decode((const uint8_t *)text, left, &ignored);
		if (!n || (unsigned char)*text < 0x20)
			report_add(line, n ? "\\u%04x" : "\\udc%02x", (unsigned char)*text);
		else
			report_add(line, "%s%.*s", strchr("\"\\", *text) ? "\\" : "", (int)n, text);
		n += !n;
	}
	report_add(line, "\", ");
}

static void report_add_counts(struct report_line *line, struct report_counts *counts)
{
	report_add(line, "\"opened\": %" PRIu64 ", \"read\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"made_real\": {",
		   counts->opened, counts->fetched, counts->bytes);
	for (unsigned i = 0; i < REPORT_CALLERS && counts->callers[i].name; i++)
		report_add(line, "%s\"%s\": %" PRIu64, i ? ", " : "", counts->callers[i].name,
			   counts->callers[i].count);
	report_add(line, "}, \"not_served\": {\"large\": %" PRIu64 ", \"flags\": %" PRIu64 ", \"other\": %" PRIu64
		   "}, \"lost\": %" PRIu64, counts->unserved[REPORT_LARGE], counts->unserved[REPORT_FLAGS],
		   counts->unserved[REPORT_OTHER], counts->lost);
}

static void report_fill(struct report_line *line)
{
	static const char *const modes[] = { [SETTINGS_PLACEHOLDER] = "placeholder",
					     [SETTINGS_COMPAT] = "compat",
					     [SETTINGS_OFF] = "off" };
	static struct report_counts none;

	report_add(line, "{\"pid\": %d, ", (int)getpid());
	report_add_string(line, "program", program_invocation_short_name);
	report_add_string(line, "mode", modes[settings_mode()]);
	if (*report_root) {
		report_add_string(line, "refused", report_root);
		report_add_string(line, "reason", report_why);
	}
	report_add_counts(line, report ? report_counts() : &none);
	report_add(line, "}\n");
}

/* --- the destination --- */

void report_begin(void)
{
	const char *where = getenv("DATASETFS_REPORT");

	if (where && !strcmp(where, "stderr"))
		report_fd = next()->fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	else if (where && *where == '/')
		report_fd = next()->open(where, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (report_fd >= 0)
		high_move(&report_fd);
}

void report_write(bool is_last)
{
	struct report_line *line;
	struct inside inside;
	bool has_entered;

	if (report_fd < 0 || private_is_anothers())
		return;
	has_entered = inside_enter(&inside); /* false: a signal interrupted our own code */
	line = report_take_line();
	if (line) {
		report_fill(line);
		if (write(report_fd, line->text, line->length) < 0) {
			/* there is nowhere to report it */
		}
		report_put_line(line);
	}
	if (report)
		memset((void *)report_counts(), 0, sizeof(struct report_counts));
	if (is_last)
		report_fd = -1;
	if (has_entered)
		inside_leave(&inside);
}

void report_leave(int fd)
{
	if (fd == report_fd)
		report_write(true);
}
