/* SPDX-License-Identifier: MIT */
/* The common part of the benchmark's loads: see load.h. */
#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct load load = { .buffer = 256 << 10, .threads = 1, .seed = 1 };
atomic_size_t load_next;
atomic_ullong load_bytes;

void load_die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "reader: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	/* Other threads may be reading: no atexit handlers under them. */
	_exit(1);
}

void *load_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		load_die("no memory for %zu × %zu bytes", count, size);
	return memory;
}

uint64_t load_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- the command line ------------------------------------------------------------------------------- */

unsigned long long load_number(const char *text, unsigned long long least, unsigned long long most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*end || value < least || value > most)
		load_die("'%s' is not a number from %llu to %llu", text, least, most);
	return value;
}

void load_option(const char *name, const char *value)
{
	if (!value)
		load_die("option '%s' needs a value", name);
	if (!strcmp(name, "--threads"))
		load.threads = (unsigned)load_number(value, 1, MAX_THREADS);
	else if (!strcmp(name, "--seed"))
		load.seed = load_number(value, 1, UINT64_MAX);
	else if (!strcmp(name, "--buffer"))
		load.buffer = load_number(value, 512, 64 << 20);
	else if (!strcmp(name, "--seconds"))
		load.seconds = strtod(value, NULL);
	else
		load_die("unknown option '%s'", name);
}

/* --- what there is to do --------------------------------------------------------------------------- */

void load_read_list(const char *name)
{
	FILE *list = fopen(name, "re");
	size_t room = 0, size = 0;
	char *line = NULL;
	ssize_t length;

	if (!list)
		load_die("list '%s': %s", name, strerror(errno));
	while ((length = getline(&line, &size, list)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		if (load.path_count == room) {
			room = room ? 2 * room : 1024;
			load.paths = realloc(load.paths, room * sizeof(*load.paths));
			if (!load.paths)
				load_die("no memory for %zu paths", room);
		}
		load.paths[load.path_count] = strdup(line);
		if (!load.paths[load.path_count++])
			load_die("no memory for a path");
	}
	free(line);
	fclose(list);
	if (!load.path_count)
		load_die("list '%s' is empty", name);
}

static uint64_t random_next(void)
{
	/* xorshift64*, good enough to shuffle and the same everywhere */
	load.seed ^= load.seed >> 12;
	load.seed ^= load.seed << 25;
	load.seed ^= load.seed >> 27;
	return load.seed * 2685821657736338717u;
}

void load_shuffle(void)
{
	for (size_t i = load.task_count - 1; i > 0; i--) {
		size_t other = random_next() % (i + 1);
		struct task task = load.tasks[i];

		load.tasks[i] = load.tasks[other];
		load.tasks[other] = task;
	}
}

void load_plan_files(void)
{
	load.task_count = load.path_count;
	load.tasks = load_alloc(load.task_count, sizeof(*load.tasks));
	for (size_t i = 0; i < load.task_count; i++)
		load.tasks[i].file = (uint32_t)i;
	load_shuffle();
}

/* --- doing it -------------------------------------------------------------------------------------- */

static double own_cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void load_begin(void)
{
	char line[16];

	load.latency = load_alloc(load.task_count, sizeof(*load.latency));
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		load_die("nobody said go");
	load.cpu = own_cpu();
	load.begun = load_now();
	if (load.seconds > 0)
		load.deadline = load.begun + (uint64_t)(load.seconds * 1e9);
}

void load_run_threads(void *(*worker)(void *))
{
	pthread_t threads[MAX_THREADS];

	for (unsigned i = 0; i < load.threads; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			load_die("cannot start thread %u", i);
	for (unsigned i = 0; i < load.threads; i++)
		pthread_join(threads[i], NULL);
}

uint64_t load_done(size_t first, size_t count, uint64_t begun)
{
	uint64_t ended = load_now(), took = ended - begun;

	for (size_t i = first; i < first + count; i++)
		load.latency[i] = (uint32_t)(took < UINT32_MAX ? took : UINT32_MAX);
	return ended;
}

/* --- the result ------------------------------------------------------------------------------------ */

static int compare_latency(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double percentile(size_t count, double part)
{
	return count ? load.latency[(size_t)((double)(count - 1) * part)] / 1e3 : 0;
}

void load_print_count(size_t count)
{
	double seconds = (double)(load_now() - load.begun) / 1e9;

	printf("{\"count\": %zu, \"bytes\": %llu, \"seconds\": %.6f, \"reader_cpu\": %.6f", count,
	       (unsigned long long)load_bytes, seconds, own_cpu() - load.cpu);
}

void load_print_tasks(void)
{
	size_t done = load_next < load.task_count ? load_next : load.task_count;

	load_print_count(done);
	qsort(load.latency, done, sizeof(*load.latency), compare_latency);
	printf(", \"latency_us\": {\"p50\": %.1f, \"p90\": %.1f, \"p99\": %.1f, \"p999\": %.1f, \"max\": %.1f}",
	       percentile(done, .5), percentile(done, .9), percentile(done, .99), percentile(done, .999),
	       percentile(done, 1));
}
