/* SPDX-License-Identifier: MIT */
/* Looks at reads in the caller's order. Files lie on the volume in the order of their ids, except for small ones,
 * which the packer puts into the rest of blocks of earlier ones. */
#include "lib/direct/neighbours.h"

#include <sys/stat.h>

#include "image/inode.h"
#include "image/members/address.h"
#include "read/op.h"

#define NEIGHBOURS_NEAR 64u         /* ids between two files: directories and links have some, too */
#define NEIGHBOURS_FAR  (4u << 20) /* bytes from the first file: small files lie in gaps that were left before them */

/* Gets the chunk of a whole file that has one chunk on the volume and that the caller may read. */
static bool neighbours_get(const struct direct *direct, struct permission *permission, const struct dsfs_read *read,
			   struct chunk *ret)
{
	struct inode inode;

	return !read->buffer && !read->offset && lib_check_id(&direct->opened, read->id, NULL) == 0 &&
	       inode_get(direct->index, read->id & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1), &inode, NULL) == 0 &&
	       S_ISREG(inode.mode) && inode.size <= read->size && inode_chunk_count(direct->index, &inode) == 1 &&
	       permission_check(permission, &inode, PERMISSION_READ, NULL) == 0 &&
	       chunk_get(direct->index, &inode, 0, ret, NULL) == 0 && !chunk_is_hole(ret) && !chunk_is_inline(ret);
}

static bool neighbours_are_near(const struct dsfs_read *reads)
{
	return reads[1].id > reads[0].id && reads[1].id - reads[0].id <= NEIGHBOURS_NEAR;
}

_Static_assert(NEIGHBOURS_BYTES + NEIGHBOURS_MAX * NEIGHBOURS_GAP <= READ_MAX, "they must fit in a read");

/* Whether the chunk lies far from the first one on its member: files of a walk lie on all members in turn. */
static bool neighbours_is_far(const struct neighbours *neighbours, const struct chunk *chunk)
{
	uint32_t i = 0;
	uint64_t from;

	while (i < neighbours->members &&
	       address_member(neighbours->from[i]) != address_member(chunk->address))
		i++;
	if (i == neighbours->members)
		return i == NEIGHBOURS_MEMBERS;
	from = neighbours->from[i];
	return (chunk->address > from ? chunk->address - from : from - chunk->address) > NEIGHBOURS_FAR;
}

static void neighbours_note_member(struct neighbours *neighbours, const struct chunk *chunk)
{
	for (uint32_t i = 0; i < neighbours->members; i++)
		if (address_member(neighbours->from[i]) == address_member(chunk->address))
			return;
	neighbours->from[neighbours->members++] = chunk->address;
}

/* Inserts the chunk in the order of addresses. False: another file shares it. */
static bool neighbours_insert(struct neighbours *neighbours, const struct chunk *chunk)
{
	uint32_t at = neighbours->count;

	while (at && neighbours->chunks[at - 1].address >= chunk->address)
		at--;
	if (at < neighbours->count && neighbours->chunks[at].address == chunk->address)
		return false;
	for (uint32_t i = neighbours->count; i > at; i--) {
		neighbours->chunks[i] = neighbours->chunks[i - 1];
		neighbours->reads[i] = neighbours->reads[i - 1];
	}
	neighbours->chunks[at] = *chunk;
	neighbours->reads[at] = (uint8_t)neighbours->count++;
	neighbours->bytes += chunk->length;
	return true;
}

void neighbours_find(const struct direct *direct, struct permission *permission, const struct dsfs_read *reads,
		     size_t count, struct neighbours *ret)
{
	struct chunk chunk;

	ret->count = ret->members = 0;
	ret->bytes = 0;
	if (count < 2 || !neighbours_are_near(reads) || !neighbours_get(direct, permission, reads, &chunk))
		return;
	do {
		if (ret->bytes + chunk.length > NEIGHBOURS_BYTES || neighbours_is_far(ret, &chunk) ||
		    !neighbours_insert(ret, &chunk))
			break;
		neighbours_note_member(ret, &chunk);
	} while (ret->count < count && ret->count < NEIGHBOURS_MAX && neighbours_are_near(&reads[ret->count - 1]) &&
		 neighbours_get(direct, permission, &reads[ret->count], &chunk));
	if (ret->count < 2)
		ret->count = 0;
}
