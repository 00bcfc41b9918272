/* SPDX-License-Identifier: MIT */
/* The sorted content of one directory. */
#pragma once
#include "source/attributes.h"
#include "source/dirfd.h"
#include "source/filter.h"
#include "spill/sorter.h"

/* What all listings of a scan share. */
struct listing_context {
	struct dirfd_cache *dirs;    /* below the source */
	const struct filter *filter; /* NULL: everything */
	const struct temp *temp;     /* left out if it lies in the source */
	size_t budget;               /* bytes of memory of one listing */
};

struct listing {
	struct dirfd *dir;
	struct attributes self; /* before its entries were read */
	struct sorter *entries;
};

struct listing_entry {
	const char *name;
	size_t name_length;
	struct attributes attributes;
};

/* An empty listing of the directory, to which entries are added. */
must_check int listing_open(const struct listing_context *context, const char *path, struct listing *ret,
			    struct error *err);
void listing_close(struct listing *listing); /* a zeroed one as well */
/* Adds the name with its attributes. -ENOENT "vanished" if it does not exist. */
must_check int listing_add(const struct listing_context *context, struct listing *listing, const char *name,
			   unsigned char d_type, struct error *err);
/* Opens the directory and adds all entries that the filter accepts. */
must_check int listing_read(const struct listing_context *context, const char *path, struct listing *ret,
			    struct error *err);
/* Entries in bytewise order of their names, any number of times. Symlinks are not followed. */
must_check int listing_rewind(struct listing *listing, struct error *err);
must_check int listing_next(struct listing *listing, struct listing_entry *ret, struct error *err);

/* The last component of the path if it lies directly in the directory of this length, else NULL, as for NULL. */
const char *listing_name_in(const char *path, const char *directory, size_t length);
