/* SPDX-License-Identifier: MIT */
/* Opens a version that is described or compared, and prints which version it is. */
#pragma once
#include "base/text/json.h"
#include "demands.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "image/meta.h"
#include "volume.h"

struct subject {
	const struct volume *volume;
	const struct version *version;
	struct index *index;
	struct meta meta;
	const char *below; /* the directory to look at; NULL: all of it */
	size_t limit;      /* the most entries of each list */
};

/* Opens the version called label; NULL: the one that a mount serves, or the current one. volume stays the
 * caller's. */
must_check int subject_open(const struct volume *volume, const char *label, const struct demands *demands,
			    struct subject *ret, struct error *err);
/* Limits the view to a directory, or to all if below is NULL, and lists to so many entries. */
must_check int subject_limit(struct subject *subject, const char *below, size_t limit, struct error *err);
void subject_close(struct subject *subject); /* accepts a zeroed one */
/* Prints label, sequence, digest and metadata as a JSON object. */
void subject_json(const struct subject *subject, struct json *json, const char *key);
/* Prints label, sequence and digest as lines of text. */
void subject_text(const struct subject *subject, const char *title);
/* Prints each entry of the metadata as a line of text. */
void subject_meta_text(const struct subject *subject);
