/* SPDX-License-Identifier: MIT */
/* Lists versions by reading the catalogue again. */
#include "lib/direct/versions.h"

#include <string.h>

#include "image/catalogue/catalogue.h"
#include "lib/direct/direct.h"

int versions_list(struct opened *opened, int (*each)(void *argument, const struct dsfs_version_info *version),
		  void *argument, struct error *err)
{
	const struct direct *direct = (const struct direct *)opened;
	struct catalogue catalogue = { 0 };
	struct superblock super = { 0 };
	int r = direct_check_volume(direct->volume, err);

	if (r == 0)
		r = catalogue_load(&direct->volume->array->source, NULL, &super, &catalogue, err);
	for (uint32_t i = 0; r == 0 && i < catalogue.version_count; i++) {
		const struct version *version = &catalogue.versions[i];
		struct dsfs_version_info info = { .sequence = version->sequence,
						  .label = version->label,
						  .is_current = version->sequence == catalogue.current };

		memcpy(info.uuid, version->uuid, sizeof(info.uuid));
		r = each(argument, &info);
	}
	catalogue_free(&catalogue);
	return r;
}
