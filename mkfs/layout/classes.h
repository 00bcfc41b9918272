/* SPDX-License-Identifier: MIT */
/* Collects attribute classes: each set of mode, owner and xattrs is stored once, and inodes refer to it. */
#pragma once
#include "content/batch.h"
#include "image/meta.h"
#include "source/override.h"
#include "spill/mapped.h"
#include "spill/table.h"

struct classes {
	struct mapped list; /* struct dsfs_class */
	struct table keys;  /* attributes and xattrs → class */
	const struct override *override; /* of the attributes of items */
};

must_check int classes_open(struct classes *classes, const struct override *override, const struct temp *temp,
			    struct error *err);
void classes_close(struct classes *classes); /* a zeroed one may be closed, too */
void classes_end(struct classes *classes);   /* after the last item: frees the lookup table */
/* Sets *ret to the item's class, which is added if it is new. A new set of xattrs is appended to blob. */
must_check int classes_find(struct classes *classes, struct mapped *blob, const struct item *item, uint32_t *ret,
			    struct error *err);
/* Adds a class like the one with this number, with the metadata too. */
must_check int classes_add_meta(struct classes *classes, struct mapped *blob, uint32_t number, const struct meta *meta,
				uint32_t *ret, struct error *err);
