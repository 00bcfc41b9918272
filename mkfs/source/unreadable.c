/* SPDX-License-Identifier: MIT */
/* Goes on where packing stopped at the first. What lies in a directory that cannot be read stays unknown. */
#include "source/unreadable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define UNREADABLE_SHOWN 256u /* bytes of names in the message */

struct unreadable {
	uint64_t count;
	char names[UNREADABLE_SHOWN]; /* the first ones, quoted */
	size_t length;
	bool is_cut;
};

/* Appends ", 'path'" as long as there is room. */
static void unreadable_add(struct unreadable *unreadable, const char *directory, const char *name)
{
	size_t room = sizeof(unreadable->names) - unreadable->length;
	int n;

	if (unreadable->count++ && unreadable->is_cut)
		return;
	n = snprintf(unreadable->names + unreadable->length, room, ", '%s%s%s'", directory, *directory ? "/" : "",
		     name);
	unreadable->is_cut = (size_t)n >= room;
	if (unreadable->is_cut && unreadable->count > 1)
		unreadable->names[unreadable->length] = 0;
	unreadable->length += unreadable->is_cut ? 0 : (size_t)n;
}

static bool unreadable_is(const struct dirfd *dir, const char *name, const struct attributes *attributes)
{
	auto_close int fd = -1;

	if (S_ISDIR(attributes->mode))
		return faccessat(dir->fd, name, R_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES;
	if (!S_ISREG(attributes->mode))
		return false;
	fd = dirfd_open_entry(dir, name, attributes, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd == -EACCES;
}

static int unreadable_entry(void *argument, const struct scan_directory *directory, const struct scan_entry *entry,
			    struct error *err)
{
	const struct dirfd *dir = directory->listing->dir;

	(void)err;
	if (!unreadable_is(dir, entry->name, entry->attributes))
		return 0;
	unreadable_add(argument, dir->path, entry->name);
	return 1;
}

static int unreadable_mark(void *argument, uint64_t directory, uint32_t number, const struct listing_entry *entry,
			   struct error *err)
{
	(void)argument;
	(void)directory;
	(void)number;
	(void)entry;
	(void)err;
	return 0;
}

static int unreadable_directory(void *argument, const struct scan_directory *directory, struct error *err)
{
	(void)argument;
	(void)directory;
	(void)err;
	return 0;
}

int unreadable_explain(const struct scan_setup *setup, const char *source, struct error *err)
{
	struct unreadable unreadable = { 0 };
	struct scan_setup again = *setup;
	struct scan_counts counts;
	char many[64] = "";

	again.is_first = true; /* the warnings of a scan were given */
	again.sink = (struct scan_sink){ unreadable_mark, unreadable_directory, unreadable_entry, &unreadable };
	(void)!scan_run(&again, &counts, NULL); /* if it fails, the list may be too short */
	if (!unreadable.count)
		return err->code;
	if (unreadable.count > 1)
		snprintf(many, sizeof(many), "%" PRIu64 " files and folders, ", unreadable.count);
	return error_set(err, -EACCES, "cannot read %s%s%s in '%s': run as root, or as a user who may, or use "
			 "--exclude", many, unreadable.names + 2, unreadable.is_cut ? ", ..." : "", source);
}
