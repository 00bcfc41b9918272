/* SPDX-License-Identifier: MIT */
/* Changes modes as chmod(1) does: an octal number, or clauses such as "a+rX,go-w". */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct mode_change {
	uint32_t who;     /* the bits that it may change */
	char operation;   /* '+', '-' or '=' */
	const char *what; /* letters of permissions, one of "ugo", or NULL: bits */
	size_t what_length;
	uint32_t bits;
};

struct mode_changes {
	struct mode_change *list;
	size_t count;
};

/* Appends the changes of the text, to which they refer. */
must_check int mode_parse(struct mode_changes *changes, const char *text, struct error *err);
/* Returns the mode, with its type, after the changes. */
uint32_t mode_apply(const struct mode_changes *changes, uint32_t mode);
