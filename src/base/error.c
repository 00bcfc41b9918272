/* SPDX-License-Identifier: MIT */
/* Formats the one-line reasons of failures. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static void error_write(struct error *err, int code, const char *fmt, va_list ap) printf_like(3, 0);

static void error_write(struct error *err, int code, const char *fmt, va_list ap)
{
	if (!err)
		return;
	err->code = code;
	vsnprintf(err->reason, sizeof(err->reason), fmt, ap);
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_write(err, code, fmt, ap);
	va_end(ap);
	return code;
}

int error_errno(struct error *err, const char *fmt, ...)
{
	int code = errno ? -errno : -EIO;
	size_t used;
	va_list ap;

	va_start(ap, fmt);
	error_write(err, code, fmt, ap);
	va_end(ap);
	if (err) {
		used = strlen(err->reason);
		snprintf(err->reason + used, sizeof(err->reason) - used, ": %s", strerror(-code));
	}
	return code;
}

int error_no_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

int error_pass(struct error *err, int code, const struct error *why)
{
	if (err) {
		*err = *why;
		err->code = code;
	}
	return code;
}

int error_wrap(struct error *err, int code, const char *fmt, ...)
{
	char reason[sizeof(err->reason)];
	size_t used;
	va_list ap;

	if (!err)
		return code;
	memcpy(reason, err->reason, sizeof(reason));
	va_start(ap, fmt);
	error_write(err, code, fmt, ap);
	va_end(ap);
	used = strlen(err->reason);
	snprintf(err->reason + used, sizeof(err->reason) - used, ": %s", reason);
	return code;
}

/* The kernel also returns ENODATA for a medium error, and EILSEQ for failed protection information. */
bool error_is_damage(int code)
{
	return code == -EBADMSG || code == -EIO || code == -ENODATA || code == -EILSEQ || code == -EREMOTEIO;
}

bool error_is_shortage(int code)
{
	return code == -EMFILE || code == -ENFILE || code == -ENOMEM;
}
