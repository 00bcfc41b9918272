/* SPDX-License-Identifier: MIT */
/* A catalogue that is read from such a volume, as for a label, waits for no member longer than this. Reads of files go
 * by the descriptors. */
#include "lib/several.h"

int several_take(struct array_source *volume, struct error *err)
{
	(void)err;
	for (uint32_t i = 0; i < volume->count; i++)
		if (array_has(volume, i))
			volume->files[i]->patience = FILE_PATIENCE;
	return 0;
}
