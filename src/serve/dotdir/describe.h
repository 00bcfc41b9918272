/* SPDX-License-Identifier: MIT */
/* Describes versions in JSON for the files of .datasetfs, and answers a lookup with a file that holds a text. */
#pragma once
#include <stddef.h>

#include "image/catalogue/catalogue.h"
#include "serve/dotdir/snapshots.h"
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* Describes all versions of a volume, as an array of objects. The caller frees the text with free(3). */
must_check int describe_catalogue(const struct catalogue *catalogue, char **ret, size_t *ret_length);
/* Answers the LOOKUP of a file with a new snapshot that holds the text. Takes the text, which was allocated with
 * malloc(3). */
void describe_reply(struct worker *worker, struct channel_request *request, enum snapshots_file file, char *text,
		    size_t length);
