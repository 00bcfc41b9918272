/* SPDX-License-Identifier: MIT */
/* Lists the paths of --from-list and their parents, in the order of the scan. */
#pragma once
#include "source/listing.h"

struct from_list;

/* Reads the list from a file, or from standard input for "-": one path in a line, or NUL after each path if the list
 * contains a NUL. */
must_check int from_list_open(const struct temp *temp, const char *path, struct from_list **ret, struct error *err);
/* Goes to the first path again, for another scan. */
must_check int from_list_rewind(struct from_list *list, struct error *err);
void from_list_close(struct from_list *list);
/* Makes a listing of the directory's listed entries. Call it for directories breadth-first. A listed path that does not
 * exist is an error. */
must_check int from_list_directory(void *list, const struct listing_context *context, const char *path,
				   struct listing *ret, struct error *err);
/* Checks, after the last directory, that no listed path is left over because it lies in no directory. */
must_check int from_list_end(void *list, const struct listing_context *context, struct error *err);
