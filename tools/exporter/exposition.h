/* SPDX-License-Identifier: MIT */
/* The metrics of several mounts as one: each family once, each series with the label mountpoint. What a mount says may
 * be hostile, as users may mount filesystems that call themselves datasetfs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

struct exposition;

must_check int exposition_new(struct exposition **ret, struct error *err);
void exposition_free(struct exposition *exposition); /* NULL does nothing */
/* The text of a mount, in the text format of Prometheus; it is cut into pieces. -EBADMSG when it is not that, when a
 * family is not of the type that another mount gives it, or when all of them say too much: then nothing of it is
 * taken. */
must_check int exposition_add(struct exposition *exposition, const char *mountpoint, char *text, size_t length,
			      struct error *err);
/* A family of our own, and a series of it; mountpoint: NULL for a series without labels. */
must_check int exposition_family(struct exposition *exposition, const char *name, const char *type, const char *help,
				 struct error *err);
must_check int exposition_series(struct exposition *exposition, const char *name, const char *mountpoint,
				 double value, struct error *err);
/* In the text format 0.0.4, or as OpenMetrics 1.0. */
void exposition_write(const struct exposition *exposition, bool is_openmetrics, FILE *out);
