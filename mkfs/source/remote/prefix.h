/* SPDX-License-Identifier: MIT */
/* Makes an archive of all objects below a prefix, in the order of their keys. */
#pragma once
#include <stdbool.h>

#include "source/remote/keys.h"
#include "source/remote/pax.h"

struct filter;

#define PREFIX_REQUESTS 64u /* most requests at a time */

struct prefix_setup {
	struct keys_setup keys; /* each and argument: not set */
	unsigned requests;
	const struct filter *filter; /* objects that are not packed are not fetched; NULL: all are */
	bool no_data;      /* zeros take the place of content, which is not asked for */
	bool refuse_odd;   /* a key that cannot be a path is an error; else it is left out */
	pax_sink *sink;    /* for the archive; warnings go to keys.warn(argument) */
	void *argument;
};

/* Threads that it has started may still run after a failure: the process must end then. */
must_check int prefix_read(struct http *http, const struct prefix_setup *setup, struct error *err);
