/* SPDX-License-Identifier: MIT */
/* csi.conf: which data sets pods may name, and what the administrator adds to that. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Characters that names of volumes have and those of data sets have not, so that nobody takes one for the other. */
#define CONF_OF_VOLUMES "/:,"

struct conf_data_set {
	char *name, *volume;
	char *options; /* of datasetfsctl attach, -o; NULL: none */
};

struct conf {
	struct conf_data_set *sets;
	size_t count;
	bool inline_paths; /* inline volumes may name the path of a volume as well */
};

/* Reads the file. One that does not exist allows nothing. -EPERM: somebody else than root may change it. */
must_check int conf_read(const char *path, struct conf *ret, struct error *err);
void conf_free(struct conf *conf); /* its contents only */
/* NULL: there is no such data set. */
const struct conf_data_set *conf_find(const struct conf *conf, const char *name);

#define auto_conf cleanup(conf_free)
