/* SPDX-License-Identifier: MIT */
/* Sorts the mounts of datasetfs by where they are. */
#include "attach/uses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/state.h"
#include "base/grow.h"
#include "base/mountinfo.h"
#include "device/occupied.h"

void uses_free(struct uses *uses)
{
	for (size_t i = 0; i < uses->count; i++) {
		free(uses->items[i].point);
		free(uses->items[i].source);
	}
	free(uses->items);
	*uses = (struct uses){ 0 };
}

/* Parses "KEY/NUMBER/mount", "KEY/NUMBER/kept" and "KEY/NUMBER/users/NAMESPACE". */
static enum use_kind uses_parse(const char *text, struct use *use)
{
	int end = 0;

	if (sscanf(text, "%32[0-9a-f]/%u/%n", use->key, &use->number, &end) == 2 && end) {
		if (!strcmp(text + end, STATE_MOUNT))
			return USE_MOUNT;
		if (!strcmp(text + end, STATE_KEPT))
			return USE_KEPT;
	}
	end = 0;
	if (sscanf(text, "%32[0-9a-f]/%u/" STATE_USERS "/%" SCNu64 "%n", use->key, &use->number, &use->namespace,
		   &end) == 3 && end && !text[end])
		return USE_HOLD;
	return USE_PLACE;
}

static void uses_sort(struct use *use)
{
	const char *state = strstr(use->point, STATE_FOLDER "/");

	use->kind = state ? uses_parse(state + strlen(STATE_FOLDER "/"), use) : USE_PLACE;
	if (use->kind != USE_PLACE && state != use->point)
		use->kind = USE_COPY;
}

static int uses_visit(void *argument, const struct mountinfo *info, struct error *err)
{
	struct uses *uses = argument;
	struct occupied_view view;
	enum occupied_by server = occupied_server(info, &view);
	struct use use = { .device = info->device, .is_part = strcmp(info->root, "/") != 0,
			   .is_kernels = server == OCCUPIED_BY_KERNEL };
	int r;

	if (server == OCCUPIED_BY_OTHERS)
		return 0;
	r = grow_one(uses->items, uses->count, err);
	if (r < 0)
		return r;
	use.point = strdup(info->point);
	use.source = strdup(use.is_kernels ? view.volume : info->source);
	uses->items[uses->count++] = use;
	if (!use.point || !use.source)
		return error_no_memory(err);
	uses_sort(&uses->items[uses->count - 1]);
	return 0;
}

int uses_read(struct uses *ret, struct error *err)
{
	struct uses uses = { 0 };
	int r = mountinfo_each(uses_visit, &uses, err);

	if (r < 0) {
		uses_free(&uses);
		return r;
	}
	*ret = uses;
	return 0;
}

const struct use *uses_find(const struct uses *uses, enum use_kind kind, const char *key, unsigned number)
{
	const struct use *found = NULL;

	for (size_t i = 0; i < uses->count; i++)
		if (uses->items[i].kind == kind && uses->items[i].number == number &&
		    !strcmp(uses->items[i].key, key))
			found = &uses->items[i];
	return found;
}

const struct use *uses_shared(const struct uses *uses, dev_t device)
{
	for (size_t i = 0; i < uses->count; i++)
		if ((uses->items[i].kind == USE_MOUNT || uses->items[i].kind == USE_KEPT) &&
		    uses->items[i].device == device)
			return &uses->items[i];
	return NULL;
}

const struct use *uses_at(const struct uses *uses, const char *path)
{
	const struct use *found = NULL;

	for (size_t i = 0; i < uses->count; i++)
		if (!strcmp(uses->items[i].point, path))
			found = &uses->items[i];
	return found;
}

size_t uses_count(const struct uses *uses, dev_t device)
{
	size_t count = 0;

	for (size_t i = 0; i < uses->count; i++)
		count += uses->items[i].device == device &&
			 (uses->items[i].kind == USE_PLACE || uses->items[i].kind == USE_HOLD);
	return count;
}
