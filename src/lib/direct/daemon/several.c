/* SPDX-License-Identifier: MIT */
/* Accepts such volumes. Reading their catalogue, for a label, waits no longer than this for a member; reads of files
 * use the descriptors. */
#include "lib/direct/daemon/several.h"

int several_take(struct array_source *volume, struct error *err)
{
	(void)err;
	for (uint32_t i = 0; i < volume->count; i++)
		if (array_has(volume, i))
			volume->files[i]->patience = FILE_PATIENCE;
	return 0;
}
