/* SPDX-License-Identifier: MIT */
/* Loads the volume, then the index of one version. */
#include "extract/data_set.h"

#include "base/cleanup.h"

int data_set_open(const char *name, const char *label, const struct demands *demands, struct data_set *ret,
		  struct error *err)
{
	struct data_set set = { 0 };
	int r = volume_open_loaded(name, &set.volume, err);

	if (r == 0)
		r = demands_open(demands, set.volume, label, &set.version, &set.index, err);
	if (r < 0) {
		data_set_close(&set);
		return r;
	}
	*ret = set;
	return 0;
}

void data_set_close(struct data_set *set)
{
	if (set->index)
		index_close(set->index);
	volume_close(set->volume);
	*set = (struct data_set){ 0 };
}
