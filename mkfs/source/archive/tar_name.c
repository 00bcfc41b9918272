/* SPDX-License-Identifier: MIT */
/* Looks at the extensions of archives. */
#include "source/archive/tar_name.h"

#include <string.h>

static const char *const tar_name_endings[] = { ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz",
						".tar.bz2", ".tbz2" };

/* Returns the length of the path without the ending; 0 if it does not end so, or if nothing else is in its name. */
static size_t tar_name_without(const char *path, const char *ending)
{
	size_t length = strlen(path), end = strlen(ending);

	if (length <= end || path[length - end - 1] == '/' || strcmp(path + length - end, ending) != 0)
		return 0;
	return length - end;
}

size_t tar_name_stem(const char *path)
{
	size_t length = 0;

	for (size_t i = 0; !length && i < sizeof(tar_name_endings) / sizeof(*tar_name_endings); i++)
		length = tar_name_without(path, tar_name_endings[i]);
	return length;
}

const char *tar_name_folder(const char *path, size_t *length)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	*length = tar_name_stem(name);
	if (!*length)
		*length = tar_name_without(name, ".zip");
	if (!*length)
		*length = strlen(name);
	return name;
}
