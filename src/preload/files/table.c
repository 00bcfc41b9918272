/* SPDX-License-Identifier: MIT */
/* Keeps entries in an array by number, in memory that a child finds empty. A number that was closed unseen is found
 * out when it is used. */
#include "preload/files/table.h"

#include <string.h>
#include <unistd.h>

#include "lib/api/handle.h"
#include "preload/files/contents.h"
#include "preload/mounts/datasets.h"
#include "preload/process/next.h"
#include "preload/process/placeholder.h"
#include "preload/process/private.h"

struct table {
	_Atomic unsigned used;
	_Atomic int end; /* 1 + the largest number that ever had an entry */
	struct table_entry entries[TABLE_SIZE];
};

static void *_Atomic table;

static struct table *table_here(void)
{
	return atomic_load_explicit(&table, memory_order_acquire);
}

bool table_make(void)
{
	return private_new(&table, sizeof(struct table));
}

bool table_has_any(void)
{
	struct table *here = table_here();

	return here && atomic_load_explicit(&here->used, memory_order_relaxed);
}

bool table_may_have(int fd)
{
	return fd >= 0 && fd < TABLE_SIZE && table_has_any() &&
	       atomic_load_explicit(&table_here()->entries[fd].is_used, memory_order_acquire);
}

/* Whether the number still is our file. With --compat its inode shows it, as it is no placeholder. */
static bool table_is(const struct table_file *file, int fd)
{
	struct statx st;

	if (!file->is_real)
		return placeholder_is(fd);
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) == 0 && st.stx_ino == file->id &&
	       datasets_is_device(file->dataset, &st);
}

struct table_entry *table_get(int fd)
{
	struct table_entry *entry;

	if (!table_may_have(fd) || !private_is_ours())
		return NULL;
	entry = &table_here()->entries[fd];
	pthread_mutex_lock(&entry->lock);
	if (entry->is_used && !table_is(&entry->file, fd))
		table_drop(entry);
	else if (entry->is_used)
		return entry;
	pthread_mutex_unlock(&entry->lock);
	return NULL;
}

void table_put(struct table_entry *entry)
{
	pthread_mutex_unlock(&entry->lock);
}

void table_drop(struct table_entry *entry)
{
	if (!entry->is_used)
		return;
	atomic_store_explicit(&entry->is_used, false, memory_order_release);
	atomic_fetch_sub(&table_here()->used, 1);
	contents_free(&entry->file);
	handle_put(entry->file.opened);
}

void table_forget(int fd)
{
	struct table_entry *entry;

	if (!table_may_have(fd) || !private_is_ours())
		return;
	entry = &table_here()->entries[fd];
	pthread_mutex_lock(&entry->lock);
	table_drop(entry);
	pthread_mutex_unlock(&entry->lock);
}

static void table_reach(int fd)
{
	_Atomic int *end = &table_here()->end;
	int known = *end;

	while (known <= fd && !atomic_compare_exchange_weak(end, &known, fd + 1))
		;
}

bool table_add(int fd, const struct table_file *file)
{
	struct table_entry *entry;

	if (fd >= TABLE_SIZE || !private_is_ours())
		return false;
	entry = &table_here()->entries[fd];
	pthread_mutex_lock(&entry->lock);
	table_drop(entry);
	memcpy(&entry->file, file, sizeof(*file));
	atomic_fetch_add(&table_here()->used, 1);
	table_reach(fd);
	atomic_store_explicit(&entry->is_used, true, memory_order_release);
	pthread_mutex_unlock(&entry->lock);
	return true;
}

int table_next(unsigned from)
{
	if (!table_has_any())
		return -1;
	for (; from < (unsigned)table_here()->end; from++)
		if (atomic_load_explicit(&table_here()->entries[from].is_used, memory_order_relaxed))
			return (int)from;
	return -1;
}
