/* SPDX-License-Identifier: MIT */
/* Whether the dynamic loader would preload a library into a program: static and privileged ones ignore LD_PRELOAD. */
#pragma once
#include <limits.h>
#include <stdbool.h>

/* The file that execvp() takes for the name, by PATH where it has no slash. False when there is none. */
bool preloadable_find(const char *name, char ret_path[PATH_MAX]);
/* Why the program ignores LD_PRELOAD, "is static" for one; NULL when it does not, or nothing is known against it.
 * Follows the #! lines of scripts; ret_path becomes the file that the answer is about. */
const char *preloadable_obstacle(const char *path, char ret_path[PATH_MAX]);
