/* SPDX-License-Identifier: MIT */
/* Reads one directory: names, then the attributes of each, through a filter into a sorter. */
#include "source/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program/interrupt.h"

#define LISTING_BUFFER 65536u

int listing_open(const struct listing_context *context, const char *path, struct listing *ret, struct error *err)
{
	struct listing listing = { 0 };
	int r;

	r = dirfd_open(context->dirs, path, &listing.dir, err);
	if (r == 0)
		r = sorter_open(context->temp, context->budget, &listing.entries, err);
	if (r == 0) {
		r = attributes_read(listing.dir->fd, "", &listing.self);
		if (r < 0)
			error_set(err, r, "cannot stat '%s': %s", path, strerror(-r));
	}
	if (r < 0) {
		listing_close(&listing);
		return r;
	}
	*ret = listing;
	return 0;
}

void listing_close(struct listing *listing)
{
	dirfd_release(listing->dir);
	sorter_free(listing->entries);
	*listing = (struct listing){ 0 };
}

/* Refuses a symlink to a directory that its own path leads through: the scan would not end. */
static int listing_check_loop(const struct listing_context *context, const struct listing *listing,
			      const struct attributes *target, struct error *err)
{
	auto_free char *path = strdup(listing->dir->path);
	struct attributes above;
	struct dirfd *dir;
	char *slash;
	int r = path ? 0 : error_no_memory(err);

	while (r == 0) {
		r = dirfd_open(context->dirs, path, &dir, err);
		if (r < 0)
			return r;
		r = attributes_read(dir->fd, "", &above);
		dirfd_release(dir);
		if (r < 0)
			return error_set(err, r, "cannot stat '%s': %s", path, strerror(-r));
		if (above.inode == target->inode && above.device == target->device)
			return error_set(err, -ELOOP, "it is a symlink to '%s' above it: use --exclude",
					 *path ? path : ".");
		if (!*path)
			return 0;
		slash = strrchr(path, '/');
		*(slash ? slash : path) = 0;
	}
	return r;
}

static int listing_stat(const struct listing_context *context, const struct listing *listing, const char *name,
			struct attributes *ret, struct error *err)
{
	auto_free char *path = NULL;
	struct error why = { 0 };
	int r = dirfd_stat(listing->dir, name, ret, &why);

	if (r == 0 && ret->is_followed && S_ISDIR(ret->mode))
		r = listing_check_loop(context, listing, ret, &why);
	if (r == 0)
		return 0;
	path = dirfd_join(listing->dir->path, name);
	if (ret->is_followed || S_ISLNK(ret->mode))
		return error_set(err, -EINVAL, "'%s': %s", path ? path : name, why.reason);
	if (r == -ENOENT)
		return error_set(err, r, "'%s' vanished while being packed", path ? path : name);
	return error_set(err, r, "cannot stat '%s': %s", path ? path : name, why.reason);
}

static int listing_wants(const struct listing_context *context, const struct listing *listing, const char *name,
			 bool is_directory, struct error *err)
{
	auto_free char *path = NULL;

	if (filter_is_empty(context->filter))
		return true;
	path = dirfd_join(listing->dir->path, name);
	if (!path)
		return error_no_memory(err);
	return filter_match(context->filter, path, is_directory);
}

/* Returns whether the filter accepts a symlink that is followed, whatever it leads to; if not, it may dangle. */
static int listing_wants_either(const struct listing_context *context, const struct listing *listing, const char *name,
				struct error *err)
{
	int wanted = listing_wants(context, listing, name, false, err);

	return wanted ? wanted : listing_wants(context, listing, name, true, err);
}

/* The type from readdir saves a statx() of entries that are filtered out. */
int listing_add(const struct listing_context *context, struct listing *listing, const char *name, unsigned char d_type,
		struct error *err)
{
	struct attributes attributes = { 0 };
	int wanted;
	int r;

	if (d_type == DT_LNK && context->dirs->beneath) {
		wanted = listing_wants_either(context, listing, name, err);
		if (wanted <= 0)
			return wanted;
		d_type = DT_UNKNOWN;
	}
	if (d_type != DT_UNKNOWN) {
		wanted = listing_wants(context, listing, name, d_type == DT_DIR, err);
		if (wanted <= 0)
			return wanted;
	}
	r = listing_stat(context, listing, name, &attributes, err);
	if (r < 0)
		return r;
	if (d_type == DT_UNKNOWN) {
		wanted = listing_wants(context, listing, name, S_ISDIR(attributes.mode), err);
		if (wanted <= 0)
			return wanted;
	}
	if (attributes.inode == context->temp->inode && attributes.device == context->temp->device)
		return 0;
	return sorter_add(listing->entries, name, strlen(name) + 1, &attributes, sizeof(attributes), err);
}

/* An entry in the buffer that getdents64(2) fills. */
struct listing_dirent {
	uint64_t d_ino;
	int64_t d_off;
	uint16_t d_reclen;
	uint8_t d_type;
	char d_name[];
};

static bool listing_name_is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int listing_add_buffer(const struct listing_context *context, struct listing *listing, const uint8_t *buffer,
			      size_t used, struct error *err)
{
	int r;

	for (size_t at = 0; at < used;) {
		const struct listing_dirent *entry = (const void *)(buffer + at);

		at += entry->d_reclen;
		if (listing_name_is_dots(entry->d_name))
			continue;
		r = listing_add(context, listing, entry->d_name, entry->d_type, err);
		if (r < 0)
			return r;
	}
	return interrupt_check(err);
}

static int listing_fill(const struct listing_context *context, struct listing *listing, struct error *err)
{
	auto_free uint8_t *buffer = malloc(LISTING_BUFFER);
	long used;
	int r;

	if (!buffer)
		return error_no_memory(err);
	for (;;) {
		used = syscall(SYS_getdents64, listing->dir->fd, buffer, LISTING_BUFFER);
		if (used < 0)
			return error_errno(err, "cannot read directory '%s'",
					   *listing->dir->path ? listing->dir->path : ".");
		if (used == 0)
			return 0;
		r = listing_add_buffer(context, listing, buffer, (size_t)used, err);
		if (r < 0)
			return r;
	}
}

int listing_read(const struct listing_context *context, const char *path, struct listing *ret, struct error *err)
{
	struct listing listing;
	int r;

	r = listing_open(context, path, &listing, err);
	if (r < 0)
		return r;
	r = listing_fill(context, &listing, err);
	if (r == 0)
		r = listing_rewind(&listing, err);
	if (r < 0) {
		listing_close(&listing);
		return r;
	}
	*ret = listing;
	return 0;
}

int listing_rewind(struct listing *listing, struct error *err)
{
	return sorter_rewind(listing->entries, err);
}

int listing_next(struct listing *listing, struct listing_entry *ret, struct error *err)
{
	const void *record;
	size_t length;
	int r;

	r = sorter_next(listing->entries, &record, &length, err);
	if (r <= 0)
		return r;
	ret->name = record;
	ret->name_length = length - sizeof(ret->attributes) - 1;
	memcpy(&ret->attributes, (const char *)record + ret->name_length + 1, sizeof(ret->attributes));
	return 1;
}

const char *listing_name_in(const char *path, const char *directory, size_t length)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash)
		return length ? NULL : path;
	if ((size_t)(slash - path) != length || memcmp(path, directory, length) != 0)
		return NULL;
	return slash + 1;
}
