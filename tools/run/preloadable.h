/* SPDX-License-Identifier: MIT */
/* Finds out whether the dynamic loader would preload our library into a program. */
#pragma once
#include <limits.h>
#include <stdbool.h>

/* Finds the file that execvp() takes for the name, by PATH if it has no slash. False: there is none. */
bool preloadable_find(const char *name, char ret_path[PATH_MAX]);
/* Returns the reason why the library cannot be preloaded into the program, and the consequence ("is static: it …");
 * NULL: no reason is known. Follows the #! lines of scripts; ret_path becomes the file that the answer is about. */
const char *preloadable_obstacle(const char *path, char ret_path[PATH_MAX]);
