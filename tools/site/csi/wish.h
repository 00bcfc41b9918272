/* SPDX-License-Identifier: MIT */
/* Wishes of pods and persistent volumes, and whether they may have that: volumeAttributes become what is attached. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "attach/named.h"
#include "base/error.h"
#include "csi/conf.h"
#include "csi/request.h"

#define WISH_WANTS 4u /* the attributes that are options */

struct wish {
	char *volume;
	char *options;           /* the administrator's, separated by commas; NULL: none */
	char *wants[WISH_WANTS]; /* what the consumer chose, each "NAME=VALUE" */
	size_t want_count;
};

/* named: the data sets that have names. -EINVAL: an attribute is wrong, or missing; -ENOENT: there is no such data set;
 * -EPERM: the administrator allows no such volume. */
must_check int wish_read(const struct request *request, const struct named_list *named, const struct conf *conf,
			 struct wish *ret, struct error *err);
bool wish_is_same(const struct wish *a, const struct wish *b);
void wish_free(struct wish *wish); /* its contents only */

#define auto_wish cleanup(wish_free)
