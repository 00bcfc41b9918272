/* SPDX-License-Identifier: MIT */
/* Texts of files of .datasetfs, by slot, in a file in memory that a successor gets: it shows an open file as its reader
 * began it. A text that does not fit is left out. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"

/* A text with what else its file shows. */
struct texts_entry {
	uint64_t nodeid;
	struct timespec when;
	uint32_t uid; /* who looked it up */
	char *text;
	size_t length;
};

/* Makes the file, with so many slots: close-on-exec. */
must_check int texts_make(unsigned slots, int *ret_fd, struct error *err);
/* Keeps a text in the place of an earlier one. fd -1: does nothing. */
void texts_put(int fd, unsigned slot, const struct texts_entry *entry);
void texts_drop(int fd, unsigned slot);
/* Takes the text of this node; the caller frees ret->text. False: it is not there. */
bool texts_get(int fd, unsigned slot, uint64_t nodeid, struct texts_entry *ret);
