/* SPDX-License-Identifier: MIT */
/* Decides where log lines go and how many are allowed. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/same.h"
#include "base/utf8.h"

#define LINE_SIZE 1024
#define TAME_SIZE 2048

static atomic_int max_level = LOG_INFO;
static atomic_bool use_syslog, use_time;
static const char *program = "datasetfs";

void log_set_level(int level)
{
	atomic_store_explicit(&max_level, level, memory_order_relaxed);
}

void log_set_program(const char *name)
{
	program = name;
}

void log_to_syslog(void)
{
	openlog(program, LOG_PID, LOG_DAEMON);
	atomic_store(&use_syslog, true);
}

void log_with_time(void)
{
	atomic_store(&use_time, true);
}

bool log_enabled(int level)
{
	return level <= atomic_load_explicit(&max_level, memory_order_relaxed);
}

/* Every process of a session inherits the variable, so it counts only if it names our stderr: systemd.exec(5),
 * $JOURNAL_STREAM. */
static bool log_goes_to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       same_fd(STDERR_FILENO, &(struct stat){ .st_dev = device, .st_ino = inode });
}

/* One stdio call per line, so that lines of two threads do not mix. */
static void log_line(int level, const char *line)
{
	char when[CLOCK_DATE_SIZE];

	if (atomic_load(&use_syslog))
		syslog(level, "%s", line);
	else if (log_goes_to_journal())
		fprintf(stderr, "<%d>%s\n", level, line);
	else if (atomic_load(&use_time))
		fprintf(stderr, "%s %s: %s\n", clock_date((uint64_t)time(NULL), when), program, line);
	else
		fprintf(stderr, "%s: %s\n", program, line);
}

/* Names may hold any byte: those that a terminal would obey are written as \xNN, as in all that programs print. A line
 * that grows too long by that is cut off. */
static void log_tame(const char *line, char tame[TAME_SIZE])
{
	size_t left = strlen(line), used = 0, n;

	tame[0] = 0;
	for (; left && used + UTF8_SHOWN_SIZE <= TAME_SIZE; line += n, left -= n) {
		n = utf8_show((const uint8_t *)line, left, "", tame + used);
		used += strlen(tame + used);
	}
}

void log_write(int level, const char *fmt, ...)
{
	char line[LINE_SIZE], tame[TAME_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_tame(line, tame);
	log_line(level, tame);
}

int log_error(const struct error *err, const char *fmt, ...)
{
	char what[LINE_SIZE / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	log_err("%s: %s", what, err->reason);
	return err->code;
}

bool log_allow(struct log_limit *limit, unsigned *ret_suppressed)
{
	struct timespec now;
	int64_t start;

	clock_gettime(CLOCK_MONOTONIC, &now);
	start = __atomic_load_n(&limit->period_start, __ATOMIC_RELAXED);
	if (start == 0 || now.tv_sec - start >= 60) {
		if (__atomic_compare_exchange_n(&limit->period_start, &start, (int64_t)now.tv_sec, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			__atomic_store_n(&limit->used, 0, __ATOMIC_RELAXED);
	}
	if (__atomic_fetch_add(&limit->used, 1, __ATOMIC_RELAXED) >= limit->burst) {
		__atomic_fetch_add(&limit->suppressed, 1, __ATOMIC_RELAXED);
		return false;
	}
	*ret_suppressed = __atomic_exchange_n(&limit->suppressed, 0, __ATOMIC_RELAXED);
	return true;
}
