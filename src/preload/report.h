/* SPDX-License-Identifier: MIT */
/* What a process did, for DATASETFS_REPORT: a line of JSON at its end. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Why a file of a data set was left to the mount. */
enum report_reason { REPORT_LARGE, REPORT_FLAGS, REPORT_OTHER, REPORT_REASONS };

/* Before what follows is counted. False: no memory. */
bool report_make(void);
void report_opened(void);              /* a file is served from now on */
void report_fetched(uint64_t bytes);   /* it was read past the mount */
void report_real(const char *caller);  /* it is the mount's from now on; caller: a constant */
void report_lost(void);                /* it should be, and cannot */
void report_unserved(enum report_reason reason);
/* A data set is read through its mount. */
void report_refused(const char *root, const char *why);
/* Opens what the line goes to: a program may close standard error at its end, or go to another root. */
void report_begin(void);
/* Writes the line, if one is asked for, and begins anew unless it is the last one. At any time, as from _exit(2) in a
 * signal handler. */
void report_write(bool is_last);
/* This number is about to be something else. If the line goes there, it is written for the last time. */
void report_leave(int fd);
