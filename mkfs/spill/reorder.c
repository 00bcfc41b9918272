/* SPDX-License-Identifier: MIT */
/* Keeps a queue of requests and, if these jump about, runs two external sorts: of requests, then of records. */
#include "spill/reorder.h"

#include <endian.h>
#include <string.h>

#include "base/program/interrupt.h"
#include "spill/sorter.h"

#define REORDER_BUDGET (16u << 20) /* for each of the sorts */
#define REORDER_NEAR   4096u /* records up to this far apart are likely to be in memory together */
#define REORDER_JUMPS  256u  /* requests per jump, on average: with fewer, all are sorted */

/* A record of the first sort, big-endian because the sorter compares bytes. */
struct reorder_request {
	uint64_t from, to;
};

int reorder_open(struct reorder *reorder, const struct temp *temp, struct error *err)
{
	*reorder = (struct reorder){ 0 };
	return temp_stream_open(&reorder->requests, temp, err);
}

void reorder_close(struct reorder *reorder)
{
	temp_stream_close(&reorder->requests);
	sorter_free(reorder->records);
	*reorder = (struct reorder){ 0 };
}

int reorder_ask(struct reorder *reorder, uint64_t from, uint64_t to, struct error *err)
{
	uint64_t distance = from > reorder->last ? from - reorder->last : reorder->last - from;
	struct reorder_request request = { htobe64(from), htobe64(to) };
	struct temp_stream *stream = &reorder->requests;
	int r = stream->used + sizeof(request) > TEMP_BUFFER ? temp_stream_flush(stream, err) : 0;

	if (r < 0)
		return r;
	reorder->jumps += distance > REORDER_NEAR;
	reorder->last = from;
	reorder->count++;
	memcpy(stream->buffer + stream->used, &request, sizeof(request));
	stream->used += sizeof(request);
	return 0;
}

/* Returns 1 and the oldest request, or 0 if there is none. */
static int reorder_pop(struct reorder *reorder, struct reorder_request *ret, struct error *err)
{
	struct temp_stream *stream = &reorder->requests;
	uint64_t left = stream->written - reorder->taken;
	int r;

	if (reorder->at == reorder->used) {
		if (!left)
			return 0;
		reorder->used = left < TEMP_BUFFER ? (size_t)left : TEMP_BUFFER;
		r = temp_read(stream->temp, stream->fd, reorder->taken, stream->buffer, reorder->used, err);
		if (r < 0)
			return r;
		reorder->taken += reorder->used;
		reorder->at = 0;
	}
	memcpy(ret, stream->buffer + reorder->at, sizeof(*ret));
	reorder->at += sizeof(*ret);
	return 1;
}

static int reorder_sort_requests(struct reorder *reorder, struct sorter *requests, struct error *err)
{
	struct reorder_request request;
	int r;

	while ((r = reorder_pop(reorder, &request, err)) > 0) {
		r = sorter_add(requests, &request, sizeof(request), NULL, 0, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : sorter_rewind(requests, err);
}

static int reorder_sort_records(struct reorder *reorder, struct sorter *requests, struct error *err)
{
	struct reorder_request request;
	const void *bytes;
	size_t length;
	int r;

	while ((r = sorter_next(requests, &bytes, &length, err)) > 0) {
		memcpy(&request, bytes, sizeof(request));
		r = reorder->get(reorder->argument, be64toh(request.from), be64toh(request.to), &bytes, &length, err);
		if (r == 0)
			r = sorter_add(reorder->records, &request.to, sizeof(request.to), bytes, length, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
	}
	return r;
}

int reorder_fetch(struct reorder *reorder, reorder_get *get, void *argument, struct error *err)
{
	const struct temp *temp = reorder->requests.temp;
	struct sorter *requests = NULL;
	int r = temp_stream_flush(&reorder->requests, err);

	reorder->get = get;
	reorder->argument = argument;
	if (r < 0 || reorder->jumps <= reorder->count / REORDER_JUMPS)
		return r;
	r = sorter_open(temp, REORDER_BUDGET, &requests, err);
	if (r == 0)
		r = sorter_open(temp, REORDER_BUDGET, &reorder->records, err);
	if (r == 0)
		r = reorder_sort_requests(reorder, requests, err);
	if (r == 0)
		r = reorder_sort_records(reorder, requests, err);
	sorter_free(requests);
	return r < 0 ? r : sorter_rewind(reorder->records, err);
}

static int reorder_next_request(struct reorder *reorder, uint64_t *ret_to, const void **ret, size_t *ret_length,
			     struct error *err)
{
	struct reorder_request request;
	int r = reorder_pop(reorder, &request, err);

	if (r <= 0)
		return r;
	*ret_to = be64toh(request.to);
	r = reorder->get(reorder->argument, be64toh(request.from), *ret_to, ret, ret_length, err);
	return r < 0 ? r : 1;
}

int reorder_next(struct reorder *reorder, uint64_t *ret_to, const void **ret, size_t *ret_length, struct error *err)
{
	const void *bytes;
	size_t length;
	uint64_t to;
	int r;

	if (!reorder->records)
		return reorder_next_request(reorder, ret_to, ret, ret_length, err);
	r = sorter_next(reorder->records, &bytes, &length, err);
	if (r <= 0)
		return r;
	memcpy(&to, bytes, sizeof(to));
	*ret_to = be64toh(to);
	*ret = (const uint8_t *)bytes + sizeof(to);
	*ret_length = length - sizeof(to);
	return 1;
}
