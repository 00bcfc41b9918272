/* SPDX-License-Identifier: MIT */
/* Lists the entries of one directory, sorted, with their attributes. */
#pragma once
#include "source/attributes.h"
#include "source/dirfd.h"
#include "source/filter.h"
#include "spill/sorter.h"

/* The settings that all listings of a scan share. */
struct listing_context {
	struct dirfd_cache *dirs;    /* directories below the source */
	const struct filter *filter; /* NULL: everything */
	const struct temp *temp;     /* its directory is left out if it lies in the source */
	size_t budget;               /* bytes of memory of one listing */
};

struct listing {
	struct dirfd *dir;
	struct attributes self; /* of the directory, before its entries were read */
	struct sorter *entries;
};

struct listing_entry {
	const char *name;
	size_t name_length;
	struct attributes attributes;
};

/* Makes an empty listing of the directory, for listing_add(). */
must_check int listing_open(const struct listing_context *context, const char *path, struct listing *ret,
			    struct error *err);
void listing_close(struct listing *listing); /* a zeroed one may be closed, too */
/* Adds the name with its attributes. -ENOENT "vanished" if it does not exist. */
must_check int listing_add(const struct listing_context *context, struct listing *listing, const char *name,
			   unsigned char d_type, struct error *err);
/* Opens the directory and adds all entries that the filter accepts. */
must_check int listing_read(const struct listing_context *context, const char *path, struct listing *ret,
			    struct error *err);
/* Goes to the first entry, any number of times. */
must_check int listing_rewind(struct listing *listing, struct error *err);
/* Returns 1 and the next entry in bytewise order of names, 0 at the end. Attributes of a symlink are its own. */
must_check int listing_next(struct listing *listing, struct listing_entry *ret, struct error *err);

/* Returns the last component of path if it lies directly in the directory, whose path has this length; else NULL. path
 * may be NULL. */
const char *listing_name_in(const char *path, const char *directory, size_t length);
