/* SPDX-License-Identifier: MIT */
/* A version that is looked into without a mount: its volume, and its index in memory. */
#pragma once
#include "demands.h"
#include "image/index.h"
#include "volume.h"

struct data_set {
	struct volume *volume;
	const struct version *version;
	struct index *index;
};

/* Opens a version by its label; NULL: the one that the mount serves, or the current one. A zeroed one may be closed. */
must_check int data_set_open(const char *name, const char *label, const struct demands *demands, struct data_set *ret,
			     struct error *err);
void data_set_close(struct data_set *set);

#define auto_data_set cleanup(data_set_close)
