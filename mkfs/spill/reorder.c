/* SPDX-License-Identifier: MIT */
/* Runs two external sorts: of numbers, then of records. */
#include "spill/reorder.h"

#include <endian.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "spill/sorter.h"

#define REORDER_BUDGET (16u << 20) /* for each of the sorts */

/* A record of the first sort, big-endian because the sorter compares bytes. */
struct reorder_wish {
	uint64_t from, to;
};

int reorder_open(struct reorder *reorder, const struct temp *temp, struct error *err)
{
	int r = sorter_open(temp, REORDER_BUDGET, &reorder->wishes, err);

	return r < 0 ? r : sorter_open(temp, REORDER_BUDGET, &reorder->records, err);
}

void reorder_close(struct reorder *reorder)
{
	sorter_free(reorder->wishes);
	sorter_free(reorder->records);
	*reorder = (struct reorder){ 0 };
}

int reorder_ask(struct reorder *reorder, uint64_t from, uint64_t to, struct error *err)
{
	struct reorder_wish wish = { htobe64(from), htobe64(to) };

	return sorter_add(reorder->wishes, &wish, sizeof(wish), NULL, 0, err);
}

int reorder_fetch(struct reorder *reorder, reorder_get *get, void *argument, struct error *err)
{
	struct reorder_wish wish;
	const void *bytes;
	size_t length;
	int r = sorter_rewind(reorder->wishes, err);

	if (r < 0)
		return r;
	while ((r = sorter_next(reorder->wishes, &bytes, &length, err)) > 0) {
		memcpy(&wish, bytes, sizeof(wish));
		r = get(argument, be64toh(wish.from), be64toh(wish.to), &bytes, &length, err);
		if (r == 0)
			r = sorter_add(reorder->records, &wish.to, sizeof(wish.to), bytes, length, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
	}
	sorter_free(take_ptr(&reorder->wishes));
	return r < 0 ? r : sorter_rewind(reorder->records, err);
}

int reorder_next(struct reorder *reorder, uint64_t *ret_to, const void **ret, size_t *ret_length, struct error *err)
{
	const void *bytes;
	size_t length;
	uint64_t to;
	int r = sorter_next(reorder->records, &bytes, &length, err);

	if (r <= 0)
		return r;
	memcpy(&to, bytes, sizeof(to));
	*ret_to = be64toh(to);
	*ret = (const uint8_t *)bytes + sizeof(to);
	*ret_length = length - sizeof(to);
	return 1;
}
