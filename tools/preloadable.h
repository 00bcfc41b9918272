/* SPDX-License-Identifier: MIT */
/* Whether the dynamic loader would preload our library into a program. */
#pragma once
#include <limits.h>
#include <stdbool.h>

/* The file that execvp() takes for the name, by PATH where it has no slash. False when there is none. */
bool preloadable_find(const char *name, char ret_path[PATH_MAX]);
/* What is against it, and what follows from that ("is static: it …"); NULL when nothing is known.
 * Follows the #! lines of scripts; ret_path becomes the file that the answer is about. */
const char *preloadable_obstacle(const char *path, char ret_path[PATH_MAX]);
