/* SPDX-License-Identifier: MIT */
/* --from-list: the named paths and their parents, in the order in which a scan meets them. */
#pragma once
#include "source/listing.h"

struct from_list;

/* Reads the list from a file, or from standard input for "-": a path a line, or with NULs between them when
 * there is a NUL in it. */
must_check int from_list_open(const struct temp *temp, const char *path, struct from_list **ret, struct error *err);
void from_list_close(struct from_list *list);
/* The directory's part of the list; directories must come breadth-first. A named path that is missing is an error. */
must_check int from_list_directory(struct from_list *list, const struct listing_context *context, const char *path,
				   struct listing *ret, struct error *err);
/* After the last directory: fails when something in the list was below no directory. */
must_check int from_list_end(struct from_list *list, const struct listing_context *context, struct error *err);
