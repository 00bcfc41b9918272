/* SPDX-License-Identifier: MIT */
/* Log lines: one message is one line, without a newline in the format. Control characters and bytes that are not
 * UTF-8 become '?'. Thread-safe. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <syslog.h> /* LOG_ERR .. LOG_DEBUG */

#include "base/error.h"

/* Lines go to stderr until log_to_syslog() is called. Under a service manager they carry its <N> prefix. */
void log_set_level(int level); /* LOG_ERR..LOG_DEBUG; LOG_INFO by default */
void log_set_program(const char *name); /* prefix of lines on stderr; the string is not copied */
void log_to_syslog(void);
void log_with_time(void); /* adds the time to lines on stderr; the journal and syslog have their own */
bool log_enabled(int level);
void log_write(int level, const char *fmt, ...) printf_like(2, 3);

/* Arguments are not evaluated when the level is disabled. */
#define log_at(level, ...)                             \
	do {                                           \
		if (log_enabled(level))                \
			log_write(level, __VA_ARGS__); \
	} while (0)

#define log_err(...)   log_at(LOG_ERR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARNING, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/* Logs "MESSAGE: REASON" and returns err->code: return log_error(&err, "cannot mount '%s'", dir); */
int log_error(const struct error *err, const char *fmt, ...) printf_like(2, 3);

/* A limiter lets burst lines through in each period of 60 s. log_allow() says whether to log this line, and how many
 * were suppressed since the last one. Zero-initialised apart from burst. */
struct log_limit {
	unsigned burst;
	int64_t period_start; /* seconds, monotonic; changed atomically */
	unsigned used;
	unsigned suppressed;
};
bool log_allow(struct log_limit *limit, unsigned *ret_suppressed);
