/* SPDX-License-Identifier: MIT */
/* Combines the sums of all chunks of a file into one key. */
#include "describe/common/content.h"

#include <string.h>
#include <sys/stat.h>

#include "image/chunk.h"
#include "image/sums/checksum.h"

#define CONTENT_WORDS 64u
#define CONTENT_HOLE  UINT64_C(0x686f6c6573) /* precedes the length of a hole; a chunk has this sum only by chance */

/* A collection of any number of words; when full, it replaces them by their sum. */
struct content_words {
	uint64_t words[CONTENT_WORDS];
	uint32_t count;
};

static void content_add(struct content_words *words, uint64_t word)
{
	if (words->count == CONTENT_WORDS) {
		words->words[0] = checksum_64(words->words, sizeof(words->words));
		words->count = 1;
	}
	words->words[words->count++] = word;
}

static void content_add_hole(struct content_words *words, uint64_t *bytes)
{
	if (!*bytes)
		return;
	content_add(words, CONTENT_HOLE);
	content_add(words, *bytes);
	*bytes = 0;
}

/* Adds the sums of all chunks. Adjacent holes count as one, whether they are chunk records or in the list of holes. */
static int content_add_chunks(const struct index *index, const struct inode *inode, struct content_words *words,
			      struct error *err)
{
	uint64_t count = inode_chunk_count(index, inode), run, hole = 0;
	struct chunk chunk;
	dsfs_le64 sum; /* all of an XXH3-64, and enough of a SHA-256 for a key of 64 bits */
	int r;

	for (uint64_t i = 0; i < count; i += run) {
		r = chunk_get_run(index, inode, i, &chunk, &run, err);
		if (r < 0)
			return r;
		if (chunk_is_hole(&chunk)) {
			hole += chunk_run_bytes(index, inode, i, run);
			continue;
		}
		content_add_hole(words, &hole);
		memcpy(&sum, chunk.sum.bytes, sizeof(sum));
		content_add(words, dsfs_le64_get(sum));
	}
	content_add_hole(words, &hole);
	return 0;
}

int content_key(const struct index *index, const struct inode *inode, uint64_t *ret, struct error *err)
{
	struct content_words words = { .words = { inode->size }, .count = 1 };
	struct span target;
	int r = 0;

	if (S_ISREG(inode->mode)) {
		r = content_add_chunks(index, inode, &words, err);
	} else if (S_ISLNK(inode->mode)) {
		r = inode_link_target(index, inode, &target, err);
		if (r == 0)
			content_add(&words, checksum_64(target.base, target.size));
	}
	if (r < 0)
		return r;
	*ret = checksum_64(words.words, words.count * sizeof(*words.words));
	return 0;
}

bool content_is_comparable(const struct index *a, const struct index *b, uint64_t size)
{
	return a->shape.chunk_sum == b->shape.chunk_sum &&
	       (a->chunk_log == b->chunk_log ||
		(size <= UINT64_C(1) << a->chunk_log && size <= UINT64_C(1) << b->chunk_log));
}
