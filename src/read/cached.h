/* SPDX-License-Identifier: MIT */
/* The cache of a volume on a drive of this machine (src/cache/), as reads see it: a further place of a chunk, with
 * bytes that may be anything. They are checked as the volume's are; if they are wrong or do not come, the volume is
 * read as if there were no cache. Readers that keep give it the bytes that they read from the volume. */
#pragma once
#include "cache/store.h"
#include "read/cache_balance.h"
#include "read/op.h"

/* Shared by all readers of a volume. */
struct cached {
	struct view *view;
	struct store *store; /* takes the bytes that readers keep; NULL: the view is lent, and readers keep nothing */
	_Atomic uint32_t uses;
	uint32_t member; /* number of its descriptor: behind those of the members */
	struct cache_balance balance;
};

must_check int cached_new(struct store *store, uint32_t member, struct cached **ret, struct error *err);
/* The same with a view that another process lends, which it takes on success. */
must_check int cached_borrow(struct view *view, uint32_t member, struct cached **ret, struct error *err);
struct cached *cached_use(struct cached *cached); /* NULL does nothing */
/* Ends a use; the last one frees it, and returns a view that was lent. NULL does nothing; a store is the owner's. */
void cached_free(struct cached *cached);

/* True: the cache is well, and has all of these chunks, but for those that the index has. */
bool cached_has(const struct cached *cached, const struct chunk *chunks, uint32_t count, int64_t now);
/* Decides which chunks of a request may come from the cache: those of files of one read, and of lists. */
void cached_begin(struct read_op *op);
/* False: the cache does not have the chunk. *ret_shift: bytes from an offset on its member to the same byte's offset in
 * the cache, modulo 2^64. */
bool cached_find(const struct read_op *op, const struct read_piece *piece, uint64_t *ret_shift);
/* Whether a read that may hit goes to the cache now. */
bool cached_takes(const struct read_fetch *fetch, int64_t now);

/* A device read begins, and has ended. */
void cached_start(const struct read_fetch *fetch, int64_t now);
void cached_end(const struct read_fetch *fetch, int64_t now);
/* The cache had the chunks of a range. */
void cached_hit(struct read_op *op, const struct read_range *range);
/* The cache did not have them, or not right. */
void cached_miss(struct read_op *op, struct read_range *range);
/* Offers it a chunk of the volume that was found right, in parts. */
void cached_keep(struct read_op *op, const struct read_piece *piece, const struct iovec *parts, int count);
