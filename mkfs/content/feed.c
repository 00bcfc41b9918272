/* SPDX-License-Identifier: MIT */
/* Takes the pipeline's next batch when the one before is full. */
#include "content/feed.h"

#include <errno.h>

void feed_flush(struct feed *feed)
{
	if (feed->batch)
		pipeline_submit(feed->pipeline);
	feed->batch = NULL;
}

int feed_add(struct feed *feed, struct dirfd *dir, struct span name, size_t content, struct item **ret,
	     struct error *err)
{
	struct item *item = feed->batch ? batch_add(feed->batch, dir, name, content) : NULL;
	int r = 0;

	if (!item) {
		feed_flush(feed);
		r = pipeline_begin(feed->pipeline, &feed->batch, err);
		item = r == 0 ? batch_add(feed->batch, dir, name, content) : NULL;
	}
	if (r < 0)
		return r;
	if (!item)
		return error_set(err, -E2BIG, "an item of %zu bytes does not fit into a batch", content);
	*ret = item;
	return 0;
}

void feed_choose(const struct feed *feed, struct item *item)
{
	item->file_kind = compress_hints_kind_of(item->name, item->name_length);
	item->compress = feed->options->compress == PACK_ZSTD ||
			 (feed->options->compress == PACK_AUTO &&
			  compress_hints_wants(feed->hints, item->file_kind, feed->batch->number));
}
