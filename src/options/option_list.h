/* SPDX-License-Identifier: MIT */
/* The list of mount options that -o takes. */
#pragma once
#include "base/error.h"
#include "options/mount_options.h"

/* Makes relative paths in a list absolute, as the daemon and its successors have another working directory. *ret is for
 * free(3). */
must_check int option_list_absolute(const char *list, char **ret, struct error *err);
/* Sets the options of the list, which is cut into words that must outlive the options. */
must_check int option_list_set(char *list, struct mount_options *options, struct error *err);
/* Reads a list that was kept, of a mount that is there. *ret_words is for free(3), after the options. */
must_check int option_list_read(const char *list, struct mount_options *ret, char **ret_words, struct error *err);
