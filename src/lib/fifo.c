/* SPDX-License-Identifier: MIT */
/* Implements a ring of pointers that grows, and takes reads from an array. */
#include "lib/fifo.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int fifo_reserve(struct fifo *fifo, size_t more, struct error *err)
{
	size_t room = fifo->room ? fifo->room : 64;
	struct dsfs_read **items;

	if (more <= fifo->room - fifo->count)
		return 0;
	if (more > SIZE_MAX / sizeof(*items) / 4 - fifo->count)
		return error_no_memory(err);
	while (room < fifo->count + more)
		room *= 2;
	items = calloc(room, sizeof(*items));
	if (!items)
		return error_no_memory(err);
	for (size_t i = 0; i < fifo->count; i++)
		items[i] = fifo->items[(fifo->first + i) % fifo->room];
	free(fifo->items);
	fifo->items = items;
	fifo->room = room;
	fifo->first = 0;
	return 0;
}

void fifo_add(struct fifo *fifo, struct dsfs_read *read)
{
	assert(fifo->count < fifo->room);
	fifo->items[(fifo->first + fifo->count++) % fifo->room] = read;
}

struct dsfs_read *fifo_take(struct fifo *fifo)
{
	struct dsfs_read *read = fifo_peek(fifo, 0);

	if (!read)
		return NULL;
	fifo->first++;
	if (fifo->first == fifo->room)
		fifo->first = 0;
	fifo->count--;
	return read;
}

struct dsfs_read *fifo_peek(const struct fifo *fifo, size_t others)
{
	if (others >= fifo->count)
		return NULL;
	return fifo->array ? &fifo->array[fifo->first + others] : fifo->items[(fifo->first + others) % fifo->room];
}

void fifo_free(struct fifo *fifo)
{
	free(fifo->items);
	*fifo = (struct fifo){ 0 };
}
