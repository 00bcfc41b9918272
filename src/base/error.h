/* SPDX-License-Identifier: MIT */
/* Errors: functions return 0 or a negative errno, and write the reason once, where it is known. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>

#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define must_check             __attribute__((warn_unused_result))

struct error {
	int code;         /* negative errno, 0 while nothing failed */
	char reason[504]; /* one line, no newline; truncated when longer */
};

/* An empty error. On the way of every request, where zeroing all of the reason costs; elsewhere '= { 0 }' does. */
static inline void error_clear(struct error *err)
{
	err->code = 0;
	err->reason[0] = 0;
}

/* Both return their code, so a failure is one statement: return error_set(err, -EBADMSG, "...").
 * err may be NULL. */
int error_set(struct error *err, int code, const char *fmt, ...) printf_like(3, 4);
int error_errno(struct error *err, const char *fmt, ...) printf_like(2, 3); /* errno, adds its text */
int error_no_memory(struct error *err); /* -ENOMEM */
/* Hands on a failure that was kept apart, with its reason; returns code. err may be NULL. */
int error_pass(struct error *err, int code, const struct error *why);
/* Puts a prefix and ": " before the reason that err holds; returns code. err may be NULL. */
int error_wrap(struct error *err, int code, const char *fmt, ...) printf_like(3, 4);

/* True when a failure with this code says something about the bytes, not about our means to look at them. */
bool error_is_damage(int code);
/* True when this process lacks descriptors or memory: nothing was found out, so nothing is missing. */
bool error_is_shortage(int code);
