/* SPDX-License-Identifier: MIT */
/* Enters and leaves our own code around each call that is served. */
#include "preload/hooks/serving.h"

bool serving_begin(struct serving *serving, int fd)
{
	if (!table_may_have(fd))
		return false;
	if (!inside_enter(&serving->inside))
		return false;
	serving->fd = fd;
	serving->entry = table_get(fd);
	if (!serving->entry) {
		inside_leave(&serving->inside);
		return false;
	}
	serving->file = &serving->entry->file;
	return true;
}

void serving_forget(int fd)
{
	struct inside inside;

	if (!table_may_have(fd) || !inside_enter(&inside))
		return;
	table_forget(fd);
	inside_leave(&inside);
}

bool serving_end(struct serving *serving, const char *caller)
{
	bool is_there = !caller || real_make_entry(serving->entry, serving->fd, caller);

	if (!is_there)
		serving->inside.code = EIO;
	table_put(serving->entry);
	inside_leave(&serving->inside);
	return is_there;
}
