/* SPDX-License-Identifier: MIT */
/* The bitmap says which chunks have rows; how many bits are set before a chunk's is the number of its row. */
#include "image/fine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/span.h"
#include "image/address.h"
#include "image/checksum.h"
#include "image/sha256.h"

#define FINE_STRIDE 8u /* words of the bitmap from one rank to the next */

struct fine {
	struct fine_layout layout;
	uint64_t address, chunk_count;
	uint8_t *head;
	const le64 *words; /* of the bitmap */
	const le64 *sums;  /* of the pages */
	uint64_t *ranks;   /* bits set before every FINE_STRIDE-th word */
};

void fine_layout(uint32_t chunk_log, uint64_t chunk_count, uint64_t row_count, struct fine_layout *ret)
{
	struct fine_layout layout = { .row_bytes = (uint32_t)sizeof(le64) << (chunk_log - DSFS_CHUNK_LOG_MIN) };

	layout.page_count = round_up(row_count * layout.row_bytes, DSFS_BLOCK) / DSFS_BLOCK;
	layout.bits = sizeof(struct dsfs_fine);
	layout.sums = layout.bits + round_up(chunk_count, 64) / 8;
	layout.head = round_up(layout.sums + layout.page_count * sizeof(le64), DSFS_BLOCK);
	layout.length = layout.head + layout.page_count * DSFS_BLOCK;
	*ret = layout;
}

/* --- the head --- */

/* Every later offset follows from these counts. */
static int fine_check_counts(const struct dsfs_fine *disk, const struct version *version, struct fine_layout *ret,
			     struct error *err)
{
	uint64_t chunks = le64_get(disk->chunk_count), rows = le64_get(disk->row_count);

	if (memcmp(disk->magic, DSFS_FINE_MAGIC, sizeof(disk->magic)) != 0)
		return error_set(err, -EBADMSG, "fine sums: bad magic");
	if (chunks != version->shape.chunk_count || rows > chunks)
		return error_set(err, -EBADMSG,
				 "fine sums: %" PRIu64 " rows for %" PRIu64 " chunks, the version has %" PRIu64, rows,
				 chunks, version->shape.chunk_count);
	fine_layout(version->chunk_log, chunks, rows, ret);
	if (ret->length != version->fine.length)
		return error_set(err, -EBADMSG, "fine sums: %" PRIu64 " bytes, its parts need %" PRIu64,
				 version->fine.length, ret->length);
	return 0;
}

static int fine_count_bits(struct fine *fine, uint64_t expected, struct error *err)
{
	uint64_t words = round_up(fine->chunk_count, 64) / 64, rows = 0;

	fine->ranks = calloc(words / FINE_STRIDE + 1, sizeof(*fine->ranks));
	if (!fine->ranks)
		return error_set(err, -ENOMEM, "fine sums: no memory");
	for (uint64_t i = 0; i < words; i++) {
		if (i % FINE_STRIDE == 0)
			fine->ranks[i / FINE_STRIDE] = rows;
		rows += (uint64_t)__builtin_popcountll(le64_get(fine->words[i]));
	}
	if (rows != expected)
		return error_set(err, -EBADMSG, "fine sums: %" PRIu64 " rows in the bitmap, expected %" PRIu64, rows,
				 expected);
	return 0;
}

int fine_open(uint8_t *head, uint64_t length, const struct version *version, struct fine **ret, struct error *err)
{
	const struct dsfs_fine *disk = span_at((struct span){ head, length }, 0, sizeof(*disk));
	struct fine *fine;
	int r;

	if (!disk)
		return error_set(err, -EBADMSG, "fine sums: a head of %" PRIu64 " bytes", length);
	fine = calloc(1, sizeof(*fine));
	if (!fine)
		return error_set(err, -ENOMEM, "fine sums: no memory");
	r = fine_check_counts(disk, version, &fine->layout, err);
	if (r == 0 && fine->layout.head > length)
		r = error_set(err, -EBADMSG, "fine sums: a head of %" PRIu64 " bytes", length);
	if (r == 0) {
		fine->address = version->fine.address;
		fine->chunk_count = version->shape.chunk_count;
		fine->words = (const le64 *)(head + fine->layout.bits);
		fine->sums = (const le64 *)(head + fine->layout.sums);
		r = fine_count_bits(fine, le64_get(disk->row_count), err);
	}
	if (r < 0) {
		fine_close(fine);
		return r;
	}
	fine->head = head;
	*ret = fine;
	return 0;
}

void fine_close(struct fine *fine)
{
	if (!fine)
		return;
	free(fine->head);
	free(fine->ranks);
	free(fine);
}

static int fine_check_digest(const uint8_t *head, uint64_t length, const struct version *version, struct error *err)
{
	uint8_t found[SHA256_SIZE];
	int r = sha256_of(head, length, found, err);

	if (r == 0 && memcmp(found, version->fine_sha256, sizeof(found)) != 0)
		r = error_set(err, -EBADMSG, "fine sums of version '%s': the SHA-256 of their head is not the one in "
			      "the catalogue", version->label);
	return r;
}

/* The first block tells how long the head is. */
static int fine_read_head(struct source *source, const struct version *version, uint8_t **ret, uint64_t *ret_length,
			  struct error *err)
{
	uint32_t member = address_member(version->fine.address);
	uint64_t at = address_offset(version->fine.address);
	auto_free uint8_t *head = aligned_alloc(DSFS_BLOCK, DSFS_BLOCK);
	struct fine_layout layout;
	int r;

	if (!head)
		return error_set(err, -ENOMEM, "fine sums: no memory");
	r = source_read(source, member, at, head, DSFS_BLOCK, err);
	if (r == 0)
		r = fine_check_counts((const struct dsfs_fine *)head, version, &layout, err);
	if (r < 0)
		return r;
	free(head);
	head = aligned_alloc(DSFS_BLOCK, layout.head);
	if (!head)
		return error_set(err, -ENOMEM, "fine sums: no memory for a head of %" PRIu64 " bytes", layout.head);
	r = source_read(source, member, at, head, layout.head, err);
	if (r == 0)
		r = fine_check_digest(head, layout.head, version, err);
	if (r < 0)
		return r;
	*ret = take_ptr(&head);
	*ret_length = layout.head;
	return 0;
}

int fine_load(struct source *source, const struct version *version, struct fine **ret, struct error *err)
{
	auto_free uint8_t *head = NULL;
	uint64_t length = 0;
	int r;

	*ret = NULL;
	if (!version->fine.length)
		return 0;
	r = fine_read_head(source, version, &head, &length, err);
	if (r == 0)
		r = fine_open(head, length, version, ret, err);
	if (r == 0)
		(void)take_ptr(&head);
	return r;
}

/* --- rows --- */

bool fine_find(const struct fine *fine, uint64_t chunk, struct fine_row *ret)
{
	uint64_t word = chunk / 64, bit = UINT64_C(1) << chunk % 64, row, at;

	if (!fine || chunk >= fine->chunk_count || !(le64_get(fine->words[word]) & bit))
		return false;
	row = fine->ranks[word / FINE_STRIDE];
	for (uint64_t i = round_down(word, FINE_STRIDE); i < word; i++)
		row += (uint64_t)__builtin_popcountll(le64_get(fine->words[i]));
	row += (uint64_t)__builtin_popcountll(le64_get(fine->words[word]) & (bit - 1));
	at = row * fine->layout.row_bytes;
	*ret = (struct fine_row){ at / DSFS_BLOCK, (uint32_t)(at % DSFS_BLOCK) };
	return true;
}

uint64_t fine_page_address(const struct fine *fine, uint64_t page)
{
	return fine->address + fine->layout.head + page * DSFS_BLOCK;
}

int fine_check_page(const struct fine *fine, uint64_t page, const void *bytes, struct error *err)
{
	uint64_t sum = checksum_64(bytes, DSFS_BLOCK), expected = le64_get(fine->sums[page]);

	if (sum != expected)
		return error_set(err, -EBADMSG, "fine sums: page %" PRIu64 " has the sum %016" PRIx64 ", expected %016" PRIx64,
				 page, sum, expected);
	return 0;
}

uint64_t fine_memory(const struct fine *fine)
{
	return fine ? fine->layout.head + round_up(fine->chunk_count, 64) / 64 / FINE_STRIDE * sizeof(*fine->ranks) : 0;
}

uint64_t fine_memory_most(const struct version *version)
{
	return version->fine.length ? version->fine.length / (DSFS_BLOCK / sizeof(le64)) +
					      version->shape.chunk_count / 4 + 2 * DSFS_BLOCK :
				      0;
}

/* --- blocks --- */

uint32_t fine_sum(const void *content, uint32_t length, le64 *sums)
{
	uint32_t count = 0;

	for (uint32_t at = 0; at < length; at += DSFS_BLOCK, count++)
		sums[count] = le64_of(checksum_64((const uint8_t *)content + at,
						  length - at < DSFS_BLOCK ? length - at : DSFS_BLOCK));
	return count;
}

/* Cuts the next block off the pieces: it lies in parts, of which this returns the count. */
static int fine_next_block(struct iovec *left, int *count, struct iovec *parts)
{
	size_t room = DSFS_BLOCK;
	int n = 0;

	while (room && *count) {
		size_t length = left->iov_len < room ? left->iov_len : room;

		parts[n++] = (struct iovec){ left->iov_base, length };
		room -= length;
		left->iov_base = (uint8_t *)left->iov_base + length;
		left->iov_len -= length;
		if (!left->iov_len && --*count)
			memmove(left, left + 1, (size_t)*count * sizeof(*left));
	}
	return n;
}

int fine_verify(const le64 *sums, const struct iovec *pieces, int count, struct error *err)
{
	struct iovec left[FINE_PIECES], parts[FINE_PIECES];
	uint64_t sum;
	int n;

	memcpy(left, pieces, (size_t)count * sizeof(*pieces));
	for (uint32_t block = 0; count; block++) {
		n = fine_next_block(left, &count, parts);
		sum = checksum_64_pieces(parts, n);
		if (sum != le64_get(sums[block]))
			return error_set(err, -EBADMSG, "block sum %016" PRIx64 ", expected %016" PRIx64, sum,
					 le64_get(sums[block]));
	}
	return 0;
}

/* --- one thread's view --- */

struct fine_view {
	const struct fine *fine;
	struct source *source;
	uint64_t page; /* 1 + its number; 0: none */
	uint8_t *bytes;
};

int fine_view_new(const struct fine *fine, struct source *source, struct fine_view **ret, struct error *err)
{
	struct fine_view *view = calloc(1, sizeof(*view));

	if (view)
		view->bytes = aligned_alloc(DSFS_BLOCK, DSFS_BLOCK);
	if (!view || !view->bytes) {
		fine_view_free(view);
		return error_set(err, -ENOMEM, "fine sums: no memory");
	}
	view->fine = fine;
	view->source = source;
	*ret = view;
	return 0;
}

void fine_view_free(struct fine_view *view)
{
	if (!view)
		return;
	free(view->bytes);
	free(view);
}

int fine_view_row(struct fine_view *view, uint64_t chunk, const le64 **ret, struct error *err)
{
	struct fine_row row;
	uint64_t address;
	int r;

	if (!fine_find(view->fine, chunk, &row))
		return 0;
	if (view->page != row.page + 1) {
		address = fine_page_address(view->fine, row.page);
		view->page = 0;
		r = source_read(view->source, address_member(address), address_offset(address), view->bytes,
				DSFS_BLOCK, err);
		if (r == 0)
			r = fine_check_page(view->fine, row.page, view->bytes, err);
		if (r < 0)
			return r;
		view->page = row.page + 1;
	}
	*ret = (const le64 *)(view->bytes + row.offset);
	return 1;
}
