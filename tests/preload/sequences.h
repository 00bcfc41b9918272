/* SPDX-License-Identifier: MIT */
/* The common part of the files of sequences: the state of one sequence, its log, random choices, bare system calls. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#define STREAMS   4u
#define MAPPINGS  4u
#define POOL      6u         /* paths that one sequence uses */
#define HIGHEST   40         /* descriptors above are not looked for */
#define ROOM      (2u << 20) /* of the largest read */
#define TREE_TIME 1500000000 /* of every file that is packed */
#define LOG_SIZE  (4u << 20)

/* Shared by a sequence, its children and the process that looks after them. */
struct log {
	size_t length;
	bool has_changes; /* beside the mount */
	char text[LOG_SIZE];
};

struct state {
	struct log *log;
	char top[4096];  /* the folder of this side: mnt and outside are in it */
	char self[4096]; /* the program's own path */
	dev_t device;    /* of the mount */
	uint64_t random;
	unsigned call;  /* the number of the one that runs */
	unsigned next;  /* the number of the one after it */
	unsigned count; /* of all calls */
	bool is_child;  /* of the sequence's own process */
	const char *pool[POOL];
	FILE *streams[STREAMS];
	struct {
		uint8_t *start;
		size_t length; /* that may be looked at */
	} mappings[MAPPINGS];
	uint8_t *buffer; /* ROOM and some more */
};

extern struct state state;

/* One kind of call: a function that makes one or a few at random and logs their results. */
struct call {
	const char *name;
	unsigned weight;
	void (*run)(void);
};

/* Each ends with an empty entry. */
extern const struct call calls_open[], calls_read[], calls_stat[], calls_table[], calls_stream[], calls_process[],
	calls_map[], calls_other[];

/* Whole sequences, in sequences_cases.c. */
extern const struct call cases[];

/* A path for a call, and the descriptor that it is relative to. */
struct place {
	int dirfd;
	char path[8192];
};

/* sequences_choose.c */
uint64_t choose(uint64_t limit); /* a number below limit */
bool chance(unsigned percent);
void choose_seed(uint64_t seed, uint64_t salt);
int choose_descriptor(void); /* mostly an open one, never 1 or 2 */
int choose_regular(void);    /* mostly one of a file on the mount */
int64_t choose_offset(int fd);
size_t choose_size(void);
uint8_t *choose_buffer(size_t size);
void choose_path(struct place *ret);    /* for a call without a dirfd */
void choose_path_at(struct place *ret); /* for one with a dirfd */
bool may_create(const struct place *place);
bool may_change(int fd);

/* sequences_log.c. A result below zero is logged with errno; so is an errno that a success has left. */
void log_result(int64_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with a hash of what was read. */
void log_bytes(int64_t result, const void *bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_attributes(int result, const struct stat *attributes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const char *log_path(const char *path); /* without what differs between the sides */
uint64_t log_hash(uint64_t hash, const void *bytes, size_t size);

/* sequences_tree.c */
int tree_make(const char *directory);
void tree_choose(void);
void outside_reset(void);

/* sequences_process.c */
int reader_main(int argc, char **argv);

/* sequences.c: the calls before this number. */
void sequence_run(unsigned end);

/* System calls that no library sees. */
long raw_call(long number, long a, long b, long c, long d, long e, long f);
bool raw_is_open(int fd);
int raw_stat(int fd, struct stat *ret);
int raw_openat(int dirfd, const char *path, int flags, unsigned mode);
int raw_close(int fd);
