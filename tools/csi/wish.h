/* SPDX-License-Identifier: MIT */
/* Wishes of pods and persistent volumes, and whether they may have that: volumeAttributes become the command line of
 * datasetfsctl attach. */
#pragma once
#include <stdbool.h>

#include "attach/named.h"
#include "base/error.h"
#include "csi/request.h"

/* Each attribute that a consumer chose stays an argument of its own. named: the data sets that have names; paths: all
 * volumes may name the path of one. The array is NULL-terminated; wish_free() frees it. -EINVAL: an attribute is wrong,
 * or missing; -ENOENT: there is no such data set; -EPERM: the administrator allows no such volume. */
must_check int wish_command(const struct request *request, const struct named_list *named, bool paths,
			    const char *target, char ***ret, struct error *err);
/* Makes a command line of these words, up to NULL. */
must_check int wish_words(const char *const *words, char ***ret, struct error *err);
void wish_free(char **words); /* NULL does nothing */
