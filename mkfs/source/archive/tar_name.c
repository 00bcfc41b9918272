/* SPDX-License-Identifier: MIT */
/* Looks at the extensions of archives. */
#include "source/archive/tar_name.h"

#include <ctype.h>
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
	const char *end = path + strlen(path), *name;

	while (end > path && end[-1] == '/')
		end--;
	for (name = end; name > path && name[-1] != '/';)
		name--;
	*length = tar_name_stem(name);
	if (!*length)
		*length = tar_name_without(name, ".zip");
	if (!*length)
		*length = (size_t)(end - name);
	if (*name == '.' && (*length == 1 || (*length == 2 && name[1] == '.')))
		*length = 0;
	return name;
}

/* Returns whether the text is the end of a part's name: ".aa", "001", "-part2". */
static bool tar_name_is_number(const char *text)
{
	text += *text == '.' || *text == '-' || *text == '_';
	if (!strncmp(text, "part", 4))
		text += 4;
	else if (*text == 'a') /* as split(1) counts; b is left to names such as .br */
		return strspn(text, "abcdefghijklmnopqrstuvwxyz") == strlen(text) && strlen(text) > 1;
	return *text && strspn(text, "0123456789") == strlen(text);
}

bool tar_name_is_part(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *at;

	for (size_t i = 0; i < sizeof(tar_name_endings) / sizeof(*tar_name_endings); i++) {
		at = strstr(name, tar_name_endings[i]);
		if (at && tar_name_is_number(at + strlen(tar_name_endings[i])))
			return true;
	}
	at = strstr(name, ".zip");
	return at && tar_name_is_number(at + strlen(".zip"));
}

bool tar_name_is_zip_part(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && !strncmp(path + length - 4, ".z", 2) && isdigit((unsigned char)path[length - 2]) &&
	       isdigit((unsigned char)path[length - 1]);
}
