/* SPDX-License-Identifier: MIT */
/* Prints progress as a bar on a terminal, as plain lines, or as JSON lines. */
#include "base/program/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "base/text/memstream.h"
#include "base/thread/thread.h"

#define PROGRESS_BAR_WIDTH 24u
#define PROGRESS_BAR_STEP  INT64_C(200000000)  /* nanoseconds between two updates of the bar */
#define PROGRESS_LINE_STEP INT64_C(2000000000) /* nanoseconds between two lines */

struct progress {
	enum progress_kind kind;
	struct thread thread;
	pthread_mutex_t mutex;
	pthread_cond_t stopped;
	bool stop;
	int64_t start; /* from clock_now() */
	_Atomic(const char *) phase;
	atomic_uint_least64_t total, files, bytes;
};

/* One snapshot of the counters. */
struct progress_state {
	const char *phase;
	uint64_t total, files, bytes;
	double seconds;
	double rate; /* bytes per second */
};

static struct progress_state progress_read(struct progress *progress)
{
	struct progress_state s = {
		.phase = atomic_load(&progress->phase),
		.total = atomic_load(&progress->total),
		.files = atomic_load(&progress->files),
		.bytes = atomic_load(&progress->bytes),
		.seconds = (double)(clock_now() - progress->start) / 1e9,
	};

	s.rate = s.seconds > 0 ? (double)s.bytes / s.seconds : 0;
	return s;
}

static void progress_print_bar(const struct progress_state *s)
{
	char done[SIZE_TEXT_SIZE], rate[SIZE_TEXT_SIZE], bar[PROGRESS_BAR_WIDTH + 1];
	size_t filled = s->total ? (size_t)((double)s->bytes / (double)s->total * PROGRESS_BAR_WIDTH) :
				   (size_t)(s->seconds * 5) % PROGRESS_BAR_WIDTH;

	memset(bar, s->total ? '.' : ' ', PROGRESS_BAR_WIDTH);
	bar[PROGRESS_BAR_WIDTH] = 0;
	for (size_t i = s->total ? 0 : filled; i <= filled && i < PROGRESS_BAR_WIDTH; i++)
		bar[i] = '#';
	fprintf(stderr, "\r\033[K%-9s [%s] %" PRIu64 " files  %s  %s/s  %.0f s", s->phase, bar, s->files,
		format_size(s->bytes, done), format_size((uint64_t)s->rate, rate), s->seconds);
}

static void progress_print_plain(const struct progress_state *s)
{
	char done[SIZE_TEXT_SIZE], rate[SIZE_TEXT_SIZE];

	fprintf(stderr, "%s: %" PRIu64 " files, %s, %s/s, %.0f s\n", s->phase, s->files, format_size(s->bytes, done),
		format_size((uint64_t)s->rate, rate), s->seconds);
}

static void progress_print_json(const struct progress_state *s)
{
	char *line = NULL;
	size_t length;
	FILE *out = memstream_open(&line, &length);
	struct json json = { .out = out };

	if (!out)
		return;
	json_begin_object(&json, NULL);
	json_string(&json, "phase", s->phase);
	json_number(&json, "files", s->files);
	json_number(&json, "bytes", s->bytes);
	json_number(&json, "total_bytes", s->total);
	json_real(&json, "seconds", s->seconds);
	json_end_object(&json);
	if (memstream_close(out, &line, NULL) == 0)
		fprintf(stderr, "%s\n", line);
	free(line);
}

static void progress_print(struct progress *progress)
{
	struct progress_state s = progress_read(progress);

	if (progress->kind == PROGRESS_BAR)
		progress_print_bar(&s);
	else if (progress->kind == PROGRESS_PLAIN)
		progress_print_plain(&s);
	else
		progress_print_json(&s);
	fflush(stderr);
}

static void progress_run(void *argument)
{
	struct progress *progress = argument;
	int64_t step = progress->kind == PROGRESS_BAR ? PROGRESS_BAR_STEP : PROGRESS_LINE_STEP;
	int64_t next = progress->start + step;

	pthread_mutex_lock(&progress->mutex);
	while (!progress->stop) {
		struct timespec until = { next / 1000000000, next % 1000000000 };

		if (pthread_cond_timedwait(&progress->stopped, &progress->mutex, &until) != ETIMEDOUT)
			continue;
		progress_print(progress);
		next += step;
	}
	pthread_mutex_unlock(&progress->mutex);
}

static enum progress_kind progress_choose(enum progress_kind kind)
{
	if (kind != PROGRESS_AUTO)
		return kind;
	return isatty(STDERR_FILENO) ? PROGRESS_BAR : PROGRESS_PLAIN;
}

int progress_open(enum progress_kind kind, struct progress **ret, struct error *err)
{
	struct progress *progress;
	pthread_condattr_t attributes;
	int r;

	*ret = NULL;
	if (kind == PROGRESS_NONE)
		return 0;
	progress = calloc(1, sizeof(*progress));
	if (!progress)
		return error_no_memory(err);
	progress->kind = progress_choose(kind);
	progress->start = clock_now();
	atomic_init(&progress->phase, "packing");
	pthread_mutex_init(&progress->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&progress->stopped, &attributes);
	pthread_condattr_destroy(&attributes);
	r = thread_start(&progress->thread, 1,
			 &(struct thread_setup){ .run = progress_run, .argument = progress }, err);
	if (r < 0) {
		free(progress);
		return r;
	}
	*ret = progress;
	return 0;
}

void progress_close(struct progress *progress)
{
	if (!progress)
		return;
	pthread_mutex_lock(&progress->mutex);
	progress->stop = true;
	pthread_cond_signal(&progress->stopped);
	pthread_mutex_unlock(&progress->mutex);
	thread_join(&progress->thread);
	if (progress->kind == PROGRESS_BAR)
		fputs("\r\033[K", stderr);
	if (progress->kind == PROGRESS_JSON)
		progress_print(progress); /* so that even the shortest run prints a line */
	pthread_cond_destroy(&progress->stopped);
	pthread_mutex_destroy(&progress->mutex);
	free(progress);
}

void progress_phase(struct progress *progress, const char *phase, uint64_t total_bytes)
{
	if (!progress)
		return;
	atomic_store(&progress->phase, phase);
	atomic_store(&progress->total, total_bytes);
	if (total_bytes)
		atomic_store(&progress->bytes, 0);
}

void progress_add(struct progress *progress, uint64_t files, uint64_t bytes)
{
	if (!progress)
		return;
	atomic_fetch_add_explicit(&progress->files, files, memory_order_relaxed);
	atomic_fetch_add_explicit(&progress->bytes, bytes, memory_order_relaxed);
}
