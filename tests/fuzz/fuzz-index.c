/* SPDX-License-Identifier: MIT */
/* An index section behind a version record that describes it: opened, listed, looked up, mapped, dumped. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/catalogue/version.h"
#include "image/chunk.h"
#include "image/extent.h"
#include "image/index.h"
#include "image/inode.h"
#include "image/meta.h"
#include "image/names/names.h"
#include "image/places.h"

static int ignore_text(void *argument, const char *text, size_t length)
{
	(void)argument;
	(void)text;
	(void)length;
	return 0;
}

static int take_entry(void *argument, const struct names_entry *entry)
{
	uint64_t *entries = argument;

	if (entry->name_length == 0 || entry->ordinal == 0)
		__builtin_trap();
	return ++*entries > 1000;
}

/* A dump has a line for each chunk of a long hole: not for millions of them. */
static bool has_short_dump(const struct index *index)
{
	struct inode inode;
	uint64_t lines = 0;

	for (uint64_t ordinal = 1; ordinal <= index->shape.inode_count; ordinal++)
		if (inode_get(index, ordinal, &inode, NULL) == 0)
			lines += inode.holes.chunks;
	return lines < 1u << 16;
}

static void use_inode(struct index *index, uint64_t ordinal)
{
	struct extent_cursor cursor;
	struct extent_piece piece;
	struct inode inode;
	uint64_t size, total = 0;

	if (inode_get(index, ordinal, &inode, NULL) < 0)
		return;
	(void)extent_blocks(index, &inode);
	if (!S_ISREG(inode.mode))
		return;
	(void)!extent_seek(index, &inode, inode.size / 2, true, NULL);
	extent_map(&cursor, index, &inode, inode.size / 3, 1u << 20, &size);
	while (extent_next(&cursor, &piece, NULL) == 1) {
		total += piece.want;
		if (chunk_is_inline(&piece.chunk) && !chunk_inline_bytes(index, &piece.chunk))
			__builtin_trap();
	}
	if (total > size)
		__builtin_trap();
}

static void use_index(struct index *index)
{
	uint64_t entries = 0, found;
	struct meta meta = { 0 };
	struct inode inode;

	(void)!meta_load(index, &meta, NULL);
	meta_free(&meta);
	for (uint64_t i = 0; i < index->shape.places_count; i++)
		if (inode_get(index, places_get(index, i), &inode, NULL) < 0 || !S_ISREG(inode.mode))
			__builtin_trap();

	if (has_short_dump(index))
		(void)!dump_text(index, ignore_text, NULL, NULL);
	for (uint64_t ordinal = 1; ordinal <= index->shape.inode_count && ordinal < 4096; ordinal++) {
		use_inode(index, ordinal);
		(void)!names_list(index->names, ordinal, ordinal % 300, take_entry, &entries);
		(void)!names_lookup(index->names, ordinal, "f007", 4, &found);
	}
}

/* The input: shape as six 32-bit numbers (names in pages), the chunk size's log with the kind of sums and the table of
 * places as three more, then the section. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const uint64_t sizes[1] = { 1u << 30 };
	struct version version = { .sequence = 1, .feature_incompat = DSFS_VERSION_INCOMPAT_HOLES };
	struct index *index;
	dsfs_le32 head[9];
	int fd;

	if (length < sizeof(head))
		return 0;
	memcpy(head, bytes, sizeof(head));
	version.shape = (struct index_shape){
		.names_length = (uint64_t)dsfs_le32_get(head[0]) * DSFS_BLOCK,
		.inode_count = dsfs_le32_get(head[1]),
		.chunk_count = dsfs_le32_get(head[2]),
		.class_count = dsfs_le32_get(head[3]),
		.blob_length = dsfs_le32_get(head[4]),
		.entry_count = dsfs_le32_get(head[5]),
		.chunk_sum = dsfs_le32_get(head[6]) & FUZZ_IS_SHA256 ? DSFS_SUM_SHA256 : DSFS_SUM_XXH3_64,
		.places_at = dsfs_le32_get(head[7]),
		.places_count = dsfs_le32_get(head[8]),
	};
	version.chunk_log = DSFS_CHUNK_LOG_MIN + dsfs_le32_get(head[6]) % (DSFS_CHUNK_LOG_MAX - DSFS_CHUNK_LOG_MIN + 1);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes + sizeof(head), length - sizeof(head)) != (ssize_t)(length - sizeof(head)))
		abort();
	if (index_load_fd(fd, &version, sizes[0], NULL, &index, NULL) < 0) {
		close(fd);
		return 0;
	}
	use_index(index);
	index_close(index);
	return 0;
}
