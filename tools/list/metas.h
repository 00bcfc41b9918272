/* SPDX-License-Identifier: MIT */
/* Loads and shows the metadata of the versions on a volume. */
#pragma once
#include "image/meta.h"
#include "volume.h"

struct metas_one {
	bool is_known; /* false: the index of the version cannot be read, or is of no interest */
	struct meta meta;
};

/* Makes an array of one for each version of the volume, which is loaded unless it is not the only one of interest;
 * only may be NULL. Warns of an index that cannot be read. */
must_check int metas_load(const struct volume *volume, const struct version *only, struct metas_one **ret,
			  struct error *err);
void metas_free(struct metas_one *metas, const struct volume *volume); /* NULL does nothing */
/* Writes an object, or null. */
void metas_json(const struct metas_one *one, struct json *json, const char *key);
/* Prints a table, if there is any metadata. */
must_check int metas_text(const struct metas_one *metas, const struct catalogue *catalogue, struct error *err);
