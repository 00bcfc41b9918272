/* SPDX-License-Identifier: MIT */
/* Owns the counts of a process, which DATASETFS_REPORT has printed as a line of JSON when the process ends. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The reason why a file of a data set was left to the mount. */
enum report_reason { REPORT_LARGE, REPORT_FLAGS, REPORT_OTHER, REPORT_REASONS };

/* Must be called before anything is counted. False: no memory. */
bool report_make(void);
void report_opened(void);              /* counts a file that is served from now on */
void report_fetched(uint64_t bytes);   /* counts a file that was read past the mount */
void report_real(const char *caller);  /* counts a file that is made real; caller: a constant */
void report_lost(void);                /* counts a file that should be made real, and cannot be */
void report_unserved(enum report_reason reason);
/* Notes the first data set that is read through its mount, and why. */
void report_refused(const char *root, const char *why);
/* Opens the report's destination early, as a program may close standard error when it ends, or change its root. */
void report_begin(void);
/* Writes the line, if one is asked for, and counts from zero again. is_last: closes the destination. May be called at
 * any time, as from _exit(2) in a signal handler. */
void report_write(bool is_last);
/* Writes the last line if this descriptor, which is about to be closed or reused, is the destination. */
void report_leave(int fd);
