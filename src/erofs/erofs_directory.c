/* SPDX-License-Identifier: MIT */
/* Fills blocks with dirents and names. */
#include "erofs/erofs_directory.h"

#include <string.h>

void erofs_directory_begin(struct erofs_directory *directory, struct erofs_sink *sink)
{
	directory->sink = sink;
	directory->full = 0;
	directory->count = 0;
	directory->name_bytes = 0;
}

/* Moves the names behind the dirents: readers compute the number of dirents from the offset of the first name. */
void erofs_directory_end(struct erofs_directory *directory)
{
	uint32_t names = directory->count * (uint32_t)sizeof(struct erofs_dirent);

	for (uint32_t i = 0; i < directory->count; i++) {
		struct erofs_dirent *dirent = &directory->dirents[i];

		dirent->name_offset = dsfs_le16_of((uint16_t)(names + dsfs_le16_get(dirent->name_offset)));
	}
	memcpy(directory->block, directory->dirents, names);
	memcpy(directory->block + names, directory->names, directory->name_bytes);
	directory->size = names + directory->name_bytes;
	memset(directory->block + directory->size, 0, EROFS_BLOCK - directory->size);
}

static int directory_next_block(struct erofs_directory *directory, struct error *err)
{
	erofs_directory_end(directory);
	directory->full++;
	directory->count = 0;
	directory->name_bytes = 0;
	return erofs_sink_put(directory->sink, directory->block, EROFS_BLOCK, err);
}

int erofs_directory_add(struct erofs_directory *directory, const char *name, size_t length, uint64_t nid,
			uint8_t type, struct error *err)
{
	size_t used = directory->count * sizeof(struct erofs_dirent) + directory->name_bytes;
	int r = 0;

	if (used + sizeof(struct erofs_dirent) + length > EROFS_BLOCK)
		r = directory_next_block(directory, err);
	if (r < 0)
		return r;
	directory->dirents[directory->count++] = (struct erofs_dirent){
		.nid = dsfs_le64_of(nid), .name_offset = dsfs_le16_of((uint16_t)directory->name_bytes), .type = type
	};
	memcpy(directory->names + directory->name_bytes, name, length);
	directory->name_bytes += (uint32_t)length;
	return 0;
}
