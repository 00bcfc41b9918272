/* SPDX-License-Identifier: MIT */
/* Goes through the components of a path. */
#include "source/clean.h"

#include <errno.h>
#include <string.h>

int clean_path(const char *path, unsigned strip, const char *where, char *out, struct error *err)
{
	unsigned components = 0;
	size_t used = 0;

	for (const char *rest = path; *rest;) {
		size_t length = strcspn(rest, "/");

		if (length == 2 && !memcmp(rest, "..", 2))
			return error_set(err, -EINVAL, "'%s' in %s has '..' in it", path, where);
		if (length && !(length == 1 && *rest == '.') && ++components > strip) {
			if (used)
				out[used++] = '/';
			memcpy(out + used, rest, length);
			used += length;
		}
		rest += length + (rest[length] == '/');
	}
	out[used] = 0;
	return (int)components;
}
