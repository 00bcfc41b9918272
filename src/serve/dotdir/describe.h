/* SPDX-License-Identifier: MIT */
/* What .datasetfs says of versions, as JSON, and lookups that are answered with a text. */
#pragma once
#include <stddef.h>

#include "base/json.h"
#include "image/catalogue.h"
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* The fields of a version, in an object that was begun. */
void describe_version(const struct version *version, struct json *json);
/* All versions of a volume: an array of an object for each. free() the text. */
must_check int describe_catalogue(const struct catalogue *catalogue, char **ret, size_t *ret_length);
/* Answers a lookup with a new file that holds the text, and takes that. */
void describe_reply(struct worker *worker, struct channel_request *request, char *text, size_t length);
