/* SPDX-License-Identifier: MIT */
/* The common part of the loads of tests/bench/run: a list of files, the jobs in a seeded random order, the threads
 * that do them, and the protocol. When the preparations are done a load prints "ready" and waits for a line on standard
 * input; then the clock runs. The result is one JSON object. Any error ends it with status 1. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_THREADS = 256 };

/* One thing to do: a whole file, or the block at this offset of it. */
struct task {
	uint32_t file;
	uint32_t block;
};

struct load {
	char **paths;
	size_t path_count;
	struct task *tasks;
	size_t task_count;
	uint32_t *latency; /* of each task that was done, in ns; written by the thread that did it */
	size_t buffer;
	unsigned threads;
	uint64_t seed;
	double seconds;
	uint64_t begun, deadline; /* ns; deadline 0: none */
	double cpu;               /* of this process when the clock began to run */
};

extern struct load load;
extern atomic_size_t load_next; /* the first task that nobody has taken */
extern atomic_ullong load_bytes;

void __attribute__((noreturn, format(printf, 1, 2))) load_die(const char *format, ...);
void *load_alloc(size_t count, size_t size);
uint64_t load_now(void);

unsigned long long load_number(const char *text, unsigned long long least, unsigned long long most);
/* One of --threads, --seed, --buffer and --seconds; ends the program when it is none. */
void load_option(const char *name, const char *value);
void load_read_list(const char *name);
void load_plan_files(void);
void load_shuffle(void);

/* Waits for the line and starts the clock. */
void load_begin(void);
void load_run_threads(void *(*worker)(void *));
/* Notes that these tasks took from begun to now, which is returned. */
uint64_t load_done(size_t first, size_t count, uint64_t begun);
/* Everything but the closing brace; tasks are taken in order and each that was taken was done. */
void load_print_tasks(void);
void load_print_count(size_t count);
