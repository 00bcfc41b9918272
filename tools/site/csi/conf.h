/* SPDX-License-Identifier: MIT */
/* csi.conf: what the administrator says to the plugin alone. Data sets have their names in a file that all consumers
 * share, see attach/named.h. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct conf {
	bool inline_paths;     /* inline volumes may name the path of a volume as well */
	char *trust, *revoked; /* files for volumes that have no trust= in the other file; NULL: any version will do */
	char *direct_group;    /* for volumes that have no direct_group= in the other file; NULL: none */
};

/* Reads the file. One that does not exist says nothing. -EPERM: somebody else than root may change it. */
must_check int conf_read(const char *path, struct conf *ret, struct error *err);
void conf_free(struct conf *conf); /* its contents only */

#define auto_conf cleanup(conf_free)
