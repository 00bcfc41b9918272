/* SPDX-License-Identifier: MIT */
/* Encodes entries of READDIR and READDIRPLUS. */
#include "serve/request/dirlist.h"

#include <dirent.h>
#include <string.h>

#define DIRLIST_DOTS 2u /* entries before the first one of the directory: "." and ".." */

void dirlist_begin(struct dirlist *list, const struct channel_request *request)
{
	const struct fuse_read_in *in = &request->wire.in.read;

	*list = (struct dirlist){
		.out = request->payload,
		.size = in->size < request->payload_size ? in->size : request->payload_size,
		.offset = in->offset,
		.first = in->offset > DIRLIST_DOTS ? in->offset - DIRLIST_DOTS : 0,
		.plus = request->wire.opcode == FUSE_READDIRPLUS,
	};
}

/* position: the offset at which a listing continues after this entry. */
static bool dirlist_put(struct dirlist *list, uint64_t position, uint64_t ino, uint8_t type, struct span name,
			const struct fuse_entry_out *entry)
{
	static const struct fuse_entry_out unknown;
	struct fuse_dirent header = {
		.ino = ino, .off = position, .namelen = (uint32_t)name.size, .type = type
	};
	size_t before = list->plus ? sizeof(*entry) : 0;
	size_t unpadded = before + FUSE_NAME_OFFSET + name.size;
	size_t total = FUSE_REC_ALIGN(unpadded);
	uint8_t *out = list->out + list->used;

	if (total > list->size - list->used)
		return false;
	memcpy(out, entry ? entry : &unknown, before);
	memcpy(out + before, &header, FUSE_NAME_OFFSET);
	memcpy(out + before + FUSE_NAME_OFFSET, name.base, name.size);
	memset(out + unpadded, 0, total - unpadded);
	list->used += total;
	return true;
}

bool dirlist_add_dots(struct dirlist *list, uint64_t self, uint64_t parent)
{
	if (list->offset < 1 && !dirlist_put(list, 1, self, DT_DIR, span_of(".", 1), NULL))
		return false;
	return list->offset >= 2 || dirlist_put(list, 2, parent, DT_DIR, span_of("..", 2), NULL);
}

bool dirlist_add(struct dirlist *list, uint64_t number, uint64_t ino, uint8_t type, struct span name,
		 const struct fuse_entry_out *entry)
{
	return dirlist_put(list, number + DIRLIST_DOTS + 1, ino, type, name, entry);
}
