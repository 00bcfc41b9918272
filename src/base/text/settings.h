/* SPDX-License-Identifier: MIT */
/* The administrator's settings for programs that root runs for others: lines of words, separated by blanks and tabs;
 * \040 stands for a blank in one, as in fstab(5), and a word that begins with # begins a comment. */
#pragma once
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

#define SETTINGS_WORDS 8u /* of a line; a line that has more is refused */

/* Takes a line that has at least one word; words[count] is NULL. The words are valid only during the call. */
typedef int settings_line(void *argument, char *words[], size_t count, struct error *err);

/* Writes a word, and what ends it: a blank or a newline. It reads as the same again; it may not be empty. */
void settings_write(FILE *out, const char *word, char end);

/* Calls line for each line of the file that has words, until it fails; its reason then names the file and the number of
 * the line. -ENOENT: there is no such file; -EPERM: others than root may change it. */
must_check int settings_read(const char *path, settings_line *line, void *argument, struct error *err);
