/* SPDX-License-Identifier: MIT */
/* Converts names of zip archives to UTF-8, from the character set that DOS had, or that an option names. */
#pragma once
#include <iconv.h>
#include <stdint.h>

#include "base/error.h"

struct tar_charset {
	const char *name; /* "none": names stay as they are */
	iconv_t iconv;    /* (iconv_t)-1: none, or the C library does not have it */
};

/* Checks the value of an option. */
must_check int tar_charset_check(const char *name, struct error *err);
/* Opens it; NULL: code page 437. Call it while the process may open files. */
void tar_charset_open(struct tar_charset *charset, const char *name);
/* Converts the name. *ret: the caller frees it, or NULL if the name is UTF-8 already, or stays as it is. -EILSEQ: the
 * name is not in the character set. */
must_check int tar_charset_convert(const struct tar_charset *charset, const char *name, char **ret);
