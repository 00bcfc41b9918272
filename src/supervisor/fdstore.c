/* SPDX-License-Identifier: MIT */
/* Searches from the beginning: there are some hundred names, and each is looked for a few times in its life. */
#include "supervisor/fdstore.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

static struct fdstore_entry *fdstore_find(const struct fdstore *store, const char *name)
{
	for (size_t i = 0; i < store->count; i++)
		if (!strncmp(store->items[i].name, name, SUPERVISOR_NAME))
			return &store->items[i];
	return NULL;
}

int fdstore_put(struct fdstore *store, const char *name, int fd, struct error *err)
{
	struct fdstore_entry *entry = fdstore_find(store, name);
	auto_close int taken = fd;
	int r;

	if (entry) {
		close(entry->fd);
		entry->fd = take_fd(&taken);
		return 0;
	}
	if (store->count == FDSTORE_MAX)
		return error_set(err, -ENOSPC, "there are %u descriptors already", FDSTORE_MAX);
	r = grow(store->items, store->room, store->count + 1, err);
	if (r < 0)
		return r;
	entry = &store->items[store->count++];
	strncpy(entry->name, name, SUPERVISOR_NAME - 1);
	entry->name[SUPERVISOR_NAME - 1] = 0;
	entry->fd = take_fd(&taken);
	return 0;
}

int fdstore_look(const struct fdstore *store, const char *name)
{
	const struct fdstore_entry *entry = fdstore_find(store, name);

	return entry ? entry->fd : -1;
}

bool fdstore_has(const struct fdstore *store, const char *name)
{
	return fdstore_find(store, name);
}

int fdstore_take(struct fdstore *store, const char *name)
{
	struct fdstore_entry *entry = fdstore_find(store, name);
	int fd;

	if (!entry)
		return -1;
	fd = entry->fd;
	store->count--;
	memmove(entry, entry + 1, (size_t)(store->items + store->count - entry) * sizeof(*entry));
	return fd;
}

int fdstore_copy(const struct fdstore *store, struct fdstore *ret, struct error *err)
{
	int fd, r = 0;

	for (size_t i = 0; r == 0 && i < store->count; i++) {
		fd = fcntl(store->items[i].fd, F_DUPFD_CLOEXEC, 0);
		r = fd < 0 ? error_errno(err, "cannot copy the descriptor '%s'", store->items[i].name) :
			     fdstore_put(ret, store->items[i].name, fd, err);
	}
	return r;
}

void fdstore_clear(struct fdstore *store, const char *but)
{
	struct fdstore left = { 0 };
	int fd = but ? fdstore_take(store, but) : -1;

	for (size_t i = 0; i < store->count; i++)
		close(store->items[i].fd);
	free(store->items);
	*store = left;
	if (fd >= 0)
		(void)!fdstore_put(store, but, fd, NULL);
}
