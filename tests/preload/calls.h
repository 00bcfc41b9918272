/* SPDX-License-Identifier: MIT */
/* Calls of the C library on fresh descriptors of one file, a line about each: what it returned and what it left. */
#pragma once
#include <stddef.h>
#include <stdbool.h>
#include <sys/types.h>

enum { CALLS_BYTES = 1 << 17, CALLS_STATES = 4 };

extern const char *calls_file;  /* every fd of a CALL is open on it */
extern const char *calls_other; /* another file */
extern off_t calls_size;        /* of calls_file */
extern unsigned char bytes[CALLS_BYTES];

/* CALL(WHAT, EXPRESSION): with a new fd at the beginning, in the middle after lseek(), behind some bytes that were
 * read, and one that is closed on exec. Prints value, errno, a sum of 'bytes', and then what the descriptor is like. */
#define CALL(what, expression) \
	for (int calls_state = 0; calls_state < CALLS_STATES; calls_state++) { \
		int fd = calls_begin(calls_state); \
		calls_end(what, calls_state, fd, (long)(expression)); \
	}

/* CHILD(WHAT, EXPRESSION): the same in a child each, that was made before the file is opened there. */
#define CHILD(what, expression) \
	for (int calls_state = 0; calls_state < CALLS_STATES; calls_state++) { \
		if (calls_child_begins(what)) { \
			int fd = calls_begin(calls_state); \
			calls_end(what, calls_state, fd, (long)(expression)); \
			calls_child_ends(); \
		} \
	}

int calls_begin(int state);
void calls_end(const char *what, int state, int fd, long ret);

/* True in the child; in the parent when that has ended, with a line if it ended badly. */
bool calls_child_begins(const char *what);
void calls_child_ends(void) __attribute__((noreturn));

/* Appends to 'bytes', for the sum. */
void calls_note(const void *data, size_t size);

/* A descriptor that a call returned: notes its attributes, flags, position and next bytes, and closes it.
 * Returns it as it is, and leaves errno. */
int calls_drain(int fd);

/* An empty file of the current directory, open for reading and writing. */
int calls_scratch(void);

/* Notes what is in such a file and closes it. Returns ret and leaves errno. */
long calls_scratch_end(int fd, long ret);

/* Waits for a child. Returns its exit status, or 1000 and the signal. */
int calls_wait(pid_t child);

/* The groups. */
void calls_reads(void);
void calls_control(void);
void calls_opens(void);
void calls_real(void);
void calls_copies(void);
void calls_sockets(void);
void calls_waits(void);
void calls_streams(void);
void calls_numbers(void);
void calls_processes(void);
void calls_names(void);
void calls_raw(void);
void calls_rings(void);
void calls_off(void);
