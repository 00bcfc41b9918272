/* SPDX-License-Identifier: MIT */
/* The list of mount options that -o takes. */
#pragma once
#include "base/error.h"

/* Cuts off the next word, and takes the quotation marks off its value. NULL: there is none. */
char *option_list_cut(char **rest);
/* Makes relative paths in a list absolute, as the daemon and its successors have another working directory. *ret is for
 * free(3). */
must_check int option_list_absolute(const char *list, char **ret, struct error *err);
