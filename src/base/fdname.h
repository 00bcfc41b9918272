/* SPDX-License-Identifier: MIT */
/* Names that the kernel has for open files, in /proc/self/fd. Nothing here allocates. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#define FDNAME_LINK_SIZE 32u

/* Writes a path that leads to the open file itself, whatever has become of its name. */
void fdname_link(int fd, char ret[FDNAME_LINK_SIZE]);
/* Opens the file again, with an open file description of its own. Returns a descriptor, or -1 and sets errno. */
int fdname_reopen(int fd, int flags);
/* Writes the file's path, NUL-terminated, as far as there is room; a path that is not below the root of the process
 * does not begin with a slash. Returns its length, or -1 and sets errno; then the path is empty. */
ssize_t fdname_path(int fd, char *path, size_t size);
