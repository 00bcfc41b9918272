/* SPDX-License-Identifier: MIT */
/* Converts with iconv. A zip says of some names that they are UTF-8; others are so too, as many programs write them. */
#include "source/archive/tar_charset.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define TAR_CHARSET_DEFAULT "CP437"
#define TAR_CHARSET_MOST    4u /* bytes of UTF-8 that a byte may become */

static const iconv_t tar_charset_none = (iconv_t)-1;

int tar_charset_check(const char *name, struct error *err)
{
	struct tar_charset charset;

	tar_charset_open(&charset, name);
	if (strcmp(name, "none") != 0 && charset.iconv == tar_charset_none)
		return error_set(err, -EINVAL, "'%s' is not none, nor a character set that 'iconv --list' has", name);
	if (charset.iconv != tar_charset_none)
		iconv_close(charset.iconv);
	return 0;
}

void tar_charset_open(struct tar_charset *charset, const char *name)
{
	charset->name = name ? name : TAR_CHARSET_DEFAULT;
	charset->iconv = strcmp(charset->name, "none") ? iconv_open("UTF-8", charset->name) : tar_charset_none;
}

static bool tar_charset_is_utf8(const char *name)
{
	size_t left = strlen(name), n = 1;
	uint32_t character;

	for (; left && n; name += n, left -= n)
		n = utf8_decode((const uint8_t *)name, left, &character);
	return n > 0;
}

int tar_charset_convert(const struct tar_charset *charset, const char *name, char **ret)
{
	size_t left = strlen(name), room = left * TAR_CHARSET_MOST;
	char *from = (char *)name, *to;

	*ret = NULL;
	if (!strcmp(charset->name, "none") || tar_charset_is_utf8(name))
		return 0;
	if (charset->iconv == tar_charset_none)
		return -EILSEQ;
	to = *ret = calloc(1, room + 1);
	if (!to)
		return -ENOMEM;
	iconv(charset->iconv, NULL, NULL, NULL, NULL);
	if (iconv(charset->iconv, &from, &left, &to, &room) != (size_t)-1 &&
	    iconv(charset->iconv, NULL, NULL, &to, &room) != (size_t)-1)
		return 0;
	free(*ret);
	*ret = NULL;
	return -EILSEQ;
}
