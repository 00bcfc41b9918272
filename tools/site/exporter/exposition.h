/* SPDX-License-Identifier: MIT */
/* Merges the metrics of several mounts: each family appears once, each series gets the label mountpoint. Input may be
 * hostile, because users can mount filesystems that pretend to be datasetfs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

struct exposition;

must_check int exposition_new(struct exposition **ret, struct error *err);
void exposition_free(struct exposition *exposition); /* NULL does nothing */
/* Adds the text of a mount, in the text format of Prometheus; modifies the buffer. -EBADMSG, with nothing added: the
 * text is malformed, a family has another type than in an earlier mount, or the texts of all mounts are too long. */
must_check int exposition_add(struct exposition *exposition, const char *mountpoint, char *text, size_t length,
			      struct error *err);
/* Adds a family of the exporter's own. */
must_check int exposition_family(struct exposition *exposition, const char *name, const char *type, const char *help,
				 struct error *err);
/* Adds a series to a family of the exporter's own. mountpoint: NULL for a series without labels. */
must_check int exposition_series(struct exposition *exposition, const char *name, const char *mountpoint,
				 double value, struct error *err);
/* Writes all metrics in the text format 0.0.4. */
void exposition_write(const struct exposition *exposition, FILE *out);
