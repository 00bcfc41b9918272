/* SPDX-License-Identifier: MIT */
/* Tells from the name of an archive how it is to be unpacked. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Returns the length of the path without the extension of a tar archive; 0: it has no such extension. */
size_t tar_name_stem(const char *path);
/* Returns the folder for an archive at this path, *length bytes long: the last component, without the extension of an
 * archive if no slash follows; 0: there is none. */
const char *tar_name_folder(const char *path, size_t *length);
/* Returns whether the name ends like one of several parts: a.tar.gz.ab, a.tar.001, a.zip.part2. */
bool tar_name_is_part(const char *path);
bool tar_name_is_zip_part(const char *path); /* a.z01, as 'zip -s' calls them */
