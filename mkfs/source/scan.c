/* SPDX-License-Identifier: MIT */
/* Walks breadth-first. Directories wait in a spool, their entries are sorted in bounded memory, and files with several
 * names are in a table: only temporary files grow with the source. */
#include "source/scan.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/interrupt.h"
#include "datasetfs/control.h"
#include "datasetfs/format.h"
#include "image/inode.h"
#include "source/prefetch.h"
#include "spill/spool.h"
#include "spill/table.h"

#define SCAN_SPECIAL_LINES 10u

/* A directory in the spool, followed by its path. */
struct scan_waiting {
	uint64_t ordinal, parent;
};

struct scan {
	const struct scan_setup *setup;
	struct scan_counts counts;
	struct spool waiting;      /* directories not yet asked for */
	struct scan_waiting asked[PREFETCH_DEPTH]; /* a ring, as in prefetch.c */
	uint64_t asked_count, taken_count;
	struct prefetch *prefetch;
	struct table links; /* (device, inode) → ordinal */
	uint64_t next_ordinal;
};

static bool scan_is_special(const struct attributes *attributes)
{
	return !S_ISREG(attributes->mode) && !S_ISDIR(attributes->mode) && !S_ISLNK(attributes->mode);
}

static int scan_special(struct scan *scan, const struct scan_directory *directory, const struct listing_entry *entry,
			struct error *err)
{
	auto_free char *path = dirfd_join(directory->listing->dir->path, entry->name);
	uint32_t mode = entry->attributes.mode;
	const char *kind = S_ISFIFO(mode) ? "FIFO" : S_ISSOCK(mode) ? "socket" : "device";

	if (!path)
		return error_no_memory(err);
	if (scan->setup->refuse_special)
		return error_set(err, -EINVAL, "'%s' is a %s", path, kind);
	if (scan->counts.special++ < SCAN_SPECIAL_LINES && !scan->setup->is_first)
		log_warn("'%s' is a %s, ignoring", path, kind);
	return 0;
}

/* Refuses entries that must not be packed: the volume itself, a name of ours at the top, a name that is too long. */
static int scan_check_entry(struct scan *scan, const struct scan_directory *directory,
			    const struct listing_entry *entry, struct error *err)
{
	const struct scan_setup *setup = scan->setup;
	const char *folder = directory->listing->dir->path;

	if (directory->ordinal == INODE_ROOT && !strcmp(entry->name, DSFS_CONTROL_FOLDER))
		return error_set(err, -EINVAL,
				 "the source has '%s' at its top, a name that a mount uses itself: skip it with "
				 "--exclude /%s",
				 DSFS_CONTROL_FOLDER, DSFS_CONTROL_FOLDER);
	if (entry->name_length > DSFS_NAME_MAX)
		return error_set(err, -ENAMETOOLONG, "'%s%s%.40s...': a name of %zu bytes, expected at most %u", folder,
				 *folder ? "/" : "", entry->name, entry->name_length, DSFS_NAME_MAX);
	if (S_ISREG(entry->attributes.mode) && setup->is_volume &&
	    setup->is_volume(setup->is_volume_argument, entry->attributes.device, entry->attributes.inode))
		return error_set(err, -EINVAL, "the volume itself lies in the source as '%s%s%s': --exclude it",
				 folder, *folder ? "/" : "", entry->name);
	return 0;
}

/* Makes the first pass over a directory: counts entries, reports marks, and warns about special files. */
static int scan_count(struct scan *scan, struct listing *listing, struct scan_directory *directory,
		      struct error *err)
{
	const struct scan_sink *sink = &scan->setup->sink;
	struct listing_entry entry;
	int r;

	while ((r = listing_next(listing, &entry, err)) > 0) {
		r = scan_check_entry(scan, directory, &entry, err);
		if (r == 0 && scan_is_special(&entry.attributes)) {
			r = scan_special(scan, directory, &entry, err);
			if (r < 0)
				return r;
			continue;
		}
		if (r == 0 && directory->entries && directory->entries % DSFS_MARK_EVERY == 0)
			r = sink->mark(sink->argument, directory->ordinal,
				       (uint32_t)(directory->entries / DSFS_MARK_EVERY), &entry, err);
		if (r < 0)
			return r;
		directory->entries++;
		directory->subdirectories += S_ISDIR(entry.attributes.mode);
	}
	return r;
}

/* Finds the ordinal of an inode with several names, or gives it a new one at the first name. */
static int scan_link(struct scan *scan, const struct attributes *attributes, struct scan_entry *entry,
		     struct error *err)
{
	struct table_key key = { attributes->inode, attributes->device };

	entry->is_link = table_find(&scan->links, key, &entry->ordinal);
	if (entry->is_link) {
		scan->counts.links++;
		return 0;
	}
	scan->counts.linked++;
	entry->ordinal = scan->next_ordinal++;
	return table_set(&scan->links, key, entry->ordinal, err);
}

static int scan_push(struct scan *scan, const struct scan_directory *directory, const struct scan_entry *entry,
		     struct error *err)
{
	struct scan_waiting waiting = { entry->ordinal, directory->ordinal };
	auto_free char *path = dirfd_join(directory->listing->dir->path, entry->name);

	if (!path)
		return error_no_memory(err);
	scan->counts.path_bytes += strlen(path) + sizeof(waiting) + sizeof(uint32_t);
	return spool_push(&scan->waiting, &waiting, sizeof(waiting), path, strlen(path), err);
}

static int scan_entry(struct scan *scan, const struct scan_directory *directory, const struct listing_entry *listed,
		      struct error *err)
{
	const struct scan_sink *sink = &scan->setup->sink;
	struct scan_entry entry = { .name = listed->name,
				    .name_length = listed->name_length,
				    .attributes = &listed->attributes };
	int r = 0;

	if (!S_ISDIR(listed->attributes.mode) && listed->attributes.nlink > 1)
		r = scan_link(scan, &listed->attributes, &entry, err);
	else
		entry.ordinal = scan->next_ordinal++;
	if (r == 0 && scan->next_ordinal >> DSFS_ORDINAL_BITS)
		r = error_set(err, -E2BIG, "more than 2^%u inodes", DSFS_ORDINAL_BITS);
	if (r < 0)
		return r;
	scan->counts.entries++;
	r = sink->entry(sink->argument, directory, &entry, err);
	if (r == 0 && S_ISDIR(listed->attributes.mode))
		return scan_push(scan, directory, &entry, err);
	return r < 0 ? r : 0;
}

/* Makes the second pass over a directory: reports the entries with their ordinals. */
static int scan_entries(struct scan *scan, struct listing *listing, const struct scan_directory *directory,
			struct error *err)
{
	struct listing_entry entry;
	int r;

	r = listing_rewind(listing, err);
	if (r < 0)
		return r;
	while ((r = listing_next(listing, &entry, err)) > 0) {
		if (scan_is_special(&entry.attributes))
			continue;
		r = scan_entry(scan, directory, &entry, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
	}
	return r;
}

static int scan_directory(struct scan *scan, const struct scan_waiting *waiting, struct listing *listing,
			  struct error *err)
{
	struct scan_directory directory = { .ordinal = waiting->ordinal, .parent = waiting->parent,
					    .listing = listing };
	const struct scan_sink *sink = &scan->setup->sink;
	int r;

	r = scan_count(scan, listing, &directory, err);
	if (r == 0)
		r = sink->directory(sink->argument, &directory, err);
	if (r == 0)
		r = scan_entries(scan, listing, &directory, err);
	return r;
}

/* Hands directories from the spool to the threads that read them. */
static int scan_ask(struct scan *scan, struct error *err)
{
	const void *record;
	size_t length;
	int r;

	while (prefetch_has_room(scan->prefetch)) {
		r = spool_pop(&scan->waiting, &record, &length, err);
		if (r <= 0)
			return r;
		memcpy(&scan->asked[scan->asked_count++ % PREFETCH_DEPTH], record, sizeof(struct scan_waiting));
		r = prefetch_ask(scan->prefetch, (const char *)record + sizeof(struct scan_waiting), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int scan_all(struct scan *scan, struct error *err)
{
	struct scan_waiting waiting;
	struct listing listing;
	int r;

	for (;;) {
		r = scan_ask(scan, err);
		if (r < 0 || prefetch_is_empty(scan->prefetch))
			return r;
		r = prefetch_take(scan->prefetch, &listing, err);
		if (r < 0)
			return r;
		waiting = scan->asked[scan->taken_count++ % PREFETCH_DEPTH];
		r = scan_directory(scan, &waiting, &listing, err);
		listing_close(&listing);
		if (r < 0)
			return r;
	}
}

/* Scans with a lister. It is one stream, so it is asked for directories one after the other. */
static int scan_listed(struct scan *scan, struct error *err)
{
	const struct scan_lister *lister = &scan->setup->lister;
	const struct listing_context *context = &scan->setup->list;
	struct scan_waiting waiting;
	struct listing listing;
	const void *record;
	size_t length;
	int r;

	while ((r = spool_pop(&scan->waiting, &record, &length, err)) > 0) {
		memcpy(&waiting, record, sizeof(waiting));
		r = lister->directory(lister->argument, context, (const char *)record + sizeof(waiting), &listing, err);
		if (r < 0)
			return r;
		r = scan_directory(scan, &waiting, &listing, err);
		listing_close(&listing);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : lister->end(lister->argument, context, err);
}

static int scan_open(struct scan *scan, struct error *err)
{
	struct scan_waiting root = { INODE_ROOT, INODE_ROOT };
	int r;

	r = spool_open(&scan->waiting, scan->setup->list.temp, err);
	if (r == 0)
		r = table_open(&scan->links, scan->setup->list.temp, err);
	if (r == 0 && !scan->setup->lister.directory)
		r = prefetch_open(&scan->setup->list, &scan->prefetch, err);
	if (r == 0)
		r = spool_push(&scan->waiting, &root, sizeof(root), "", 0, err);
	scan->next_ordinal = INODE_ROOT + 1;
	return r;
}

int scan_run(const struct scan_setup *setup, struct scan_counts *ret, struct error *err)
{
	struct scan scan = { .setup = setup };
	int r;

	r = scan_open(&scan, err);
	if (r == 0)
		r = setup->lister.directory ? scan_listed(&scan, err) : scan_all(&scan, err);
	prefetch_close(scan.prefetch);
	spool_close(&scan.waiting);
	table_close(&scan.links);
	if (r < 0)
		return r;
	if (scan.counts.special > SCAN_SPECIAL_LINES && !setup->is_first)
		log_warn("%" PRIu64 " devices, sockets and FIFOs in all, ignoring", scan.counts.special);
	scan.counts.inodes = scan.next_ordinal - 1;
	*ret = scan.counts;
	return 0;
}
