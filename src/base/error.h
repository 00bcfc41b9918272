/* SPDX-License-Identifier: MIT */
/* The error type: functions return 0 or a negative errno, and write the reason once, where it is known. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>

#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define must_check             __attribute__((warn_unused_result))

struct error {
	int code;         /* negative errno, 0 if nothing failed */
	char reason[504]; /* one line without a newline, truncated if too long */
};

/* Empties an error without zeroing the whole reason, for the request path. Elsewhere '= { 0 }' will do. */
static inline void error_clear(struct error *err)
{
	err->code = 0;
	err->reason[0] = 0;
}

/* Writes code and reason, and returns code, so that a failure is one statement: return error_set(err, -EBADMSG,
 * "..."). err may be NULL. */
int error_set(struct error *err, int code, const char *fmt, ...) printf_like(3, 4);
int error_errno(struct error *err, const char *fmt, ...) printf_like(2, 3); /* appends errno's text, returns -errno */
int error_no_memory(struct error *err); /* returns -ENOMEM */
/* Copies the reason of another error, why, into err and returns code. err may be NULL. */
int error_pass(struct error *err, int code, const struct error *why);
/* Puts a prefix and ": " in front of err's reason and returns code. err may be NULL. */
int error_wrap(struct error *err, int code, const char *fmt, ...) printf_like(3, 4);

/* True if the code means that the bytes are bad or unreadable, not that this process could not look at them. */
bool error_is_damage(int code);
/* True if this process lacks descriptors or memory, so that the failure proves nothing about the file. */
bool error_is_shortage(int code);
