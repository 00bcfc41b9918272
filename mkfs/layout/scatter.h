/* SPDX-License-Identifier: MIT */
/* Holds the contents of small files back until all have come, and then stores them in a random order. Until then a
 * chunk's address says where its bytes wait. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/program/progress.h"
#include "image/members/address.h"
#include "layout/records.h"
#include "output/writer.h"
#include "spill/sorter.h"

#define SCATTER_BUCKETS 128u
#define SCATTER_SORTED  128u /* bytes of temporary files, at most, that sort a file and rank it */
#define SCATTER_WAITING (UINT64_C(1) << 55) /* in an address: its bytes wait. No volume is as large */

struct scatter {
	const struct temp *temp;
	uint64_t seed;
	struct temp_stream buckets[SCATTER_BUCKETS]; /* contents, by the upper bits of their keys */
	struct sorter *files;                        /* struct scatter_file, by key */
	struct sorter *placed;                       /* struct scatter_place, by record */
	unsigned current;                            /* the bucket of the file that scatter_begin() began */
	uint64_t bytes;                              /* of all contents */
	uint8_t *buffer;                             /* a bucket, or a file of one that is larger */
};

must_check int scatter_open(const struct temp *temp, uint64_t seed, struct scatter **ret, struct error *err);
void scatter_close(struct scatter *scatter); /* NULL does nothing */
/* Returns whether the bytes of a chunk at this address wait. */
static inline bool scatter_is_waiting(uint64_t address)
{
	return address_offset(address) & SCATTER_WAITING;
}
/* Begins with the contents of a file. Its first record will be number `record`: as many bytes of its chunks follow in
 * scatter_put(). align: how writer_reserve() will place them. */
must_check int scatter_begin(struct scatter *scatter, const struct item *item, uint64_t record, uint64_t bytes,
			     enum space_align align, struct error *err);
/* Puts the bytes of the next chunk; *ret_address says where they wait. */
must_check int scatter_put(struct scatter *scatter, const struct batch_chunk *chunk, uint64_t *ret_address,
			   struct error *err);
/* Sets *ret to bytes that wait, valid until the next call. */
must_check int scatter_view(struct scatter *scatter, uint64_t address, size_t length, const uint8_t **ret,
			    struct error *err);
/* Stores everything, and sets the addresses in records. Only scatter_close() may follow. */
must_check int scatter_finish(struct scatter *scatter, struct writer *writer, struct records *records,
			      struct progress *progress, struct error *err);
