/* SPDX-License-Identifier: MIT */
/* Reads one index after the other, as describe would. */
#include "list/metas.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text/shown.h"
#include "demands.h"
#include "grid.h"

static int metas_load_one(const struct volume *volume, const struct version *version, struct meta *ret,
			  struct error *err)
{
	const struct demands none = { .has_digest = false };
	struct index *index = NULL;
	int r = demands_load(&none, volume, version, &index, err);

	if (r == 0)
		r = meta_load(index, ret, err);
	index_close(index);
	return r;
}

int metas_load(const struct volume *volume, const struct version *only, struct metas_one **ret, struct error *err)
{
	const struct catalogue *catalogue = &volume->catalogue;
	struct metas_one *metas = calloc((size_t)catalogue->version_count + 1, sizeof(*metas));
	struct error why = { 0 };

	if (!metas)
		return error_no_memory(err);
	for (uint32_t i = 0; i < catalogue->version_count; i++) {
		const struct version *version = &catalogue->versions[i];

		if (only && only != version)
			continue;
		metas[i].is_known = metas_load_one(volume, version, &metas[i].meta, &why) == 0;
		if (!metas[i].is_known)
			log_warn("the metadata of version '%s' is not known: %s", version->label, why.reason);
	}
	*ret = metas;
	return 0;
}

void metas_free(struct metas_one *metas, const struct volume *volume)
{
	for (uint32_t i = 0; metas && i < volume->catalogue.version_count; i++)
		meta_free(&metas[i].meta);
	free(metas);
}

void metas_json(const struct metas_one *one, struct json *json, const char *key)
{
	if (one->is_known)
		meta_json(&one->meta, json, key);
	else
		json_null(json, key);
}

static void metas_text_one(struct grid *grid, const char *label, const struct meta *meta)
{
	const struct meta_entry *entry = meta->list;

	for (size_t i = 0; i < meta->count; i++, entry++) {
		grid_cell(grid, "%s", label);
		grid_cell(grid, "%s", entry->key);
		shown_write(grid_next(grid), entry->value.base, entry->value.size, "");
	}
}

int metas_text(const struct metas_one *metas, const struct catalogue *catalogue, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	size_t count = 0;
	int r = 0;

	for (uint32_t i = 0; i < catalogue->version_count; i++)
		count += metas[i].meta.count;
	if (count)
		r = grid_new(&grid, err);
	if (r < 0 || !count)
		return r;
	grid_columns(grid, GRID_LEFT, "LABEL", "KEY", "VALUE");
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		metas_text_one(grid, catalogue->versions[i].label, &metas[i].meta);
	putchar('\n');
	return grid_print(grid, 0, err);
}
