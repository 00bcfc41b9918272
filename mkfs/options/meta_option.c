/* SPDX-License-Identifier: MIT */
/* Takes KEY=VALUE apart at the first equals sign. */
#include "options/meta_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "datasetfs/format.h"

#define META_OPTION_KEY_MAX 64u

static int meta_option_check_key(const char *text, size_t length, struct error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (length == 0 || length > META_OPTION_KEY_MAX)
		return error_set(err, -EINVAL, "a key of %zu bytes, expected 1 to %u", length, META_OPTION_KEY_MAX);
	if (text[0] == '.' || text[0] == '-' || strspn(text, allowed) != length)
		return error_set(err, -EINVAL, "key '%.*s': expected letters, digits and ._- and no . or - at the "
				 "start", (int)length, text);
	return 0;
}

static int meta_option_check_value(const char *value, struct error *err)
{
	const uint8_t *at = (const uint8_t *)value;
	size_t left = strlen(value), length;
	uint32_t point;

	if (!left)
		return error_set(err, -EINVAL, "it is empty, expected text");
	for (; left; at += length, left -= length) {
		length = utf8_decode(at, left, &point);
		if (!length)
			return error_set(err, -EINVAL, "it has a byte 0x%02x that is not UTF-8", *at);
		if ((point < ' ' && !strchr("\t\n", (int)point)) || (point >= 0x7f && point < 0xa0))
			return error_set(err, -EINVAL, "it has the control character U+%04X, expected text, tabs and "
					 "newlines", point);
	}
	return 0;
}

/* Checks the length that all of it has on the volume. */
static int meta_option_check_size(const struct meta *meta, struct error *err)
{
	auto_free uint8_t *bytes = malloc(DSFS_XATTRS_MAX);
	struct xattr_set set = xattr_set_begin(bytes);

	if (!bytes)
		return error_no_memory(err);
	return meta_encode(meta, &set) ? 0 : error_set(err, -E2BIG, "all metadata takes more than %u bytes",
						       DSFS_XATTRS_MAX);
}

int meta_option_add(struct meta *meta, const char *text, struct error *err)
{
	const char *equals = strchr(text, '=');
	struct span key;
	int r;

	if (!equals)
		return error_set(err, -EINVAL, "'%.100s' has no '=', expected KEY=VALUE", text);
	key = span_of(text, (uint64_t)(equals - text));
	r = meta_option_check_key(text, key.size, err);
	if (r < 0)
		return r;
	r = meta_option_check_value(equals + 1, err);
	if (r < 0)
		return error_wrap(err, r, "the value of '%.*s'", (int)key.size, text);
	r = meta_add(meta, key, span_text(equals + 1), err);
	return r < 0 ? r : meta_option_check_size(meta, err);
}
