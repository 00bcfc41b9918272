/* SPDX-License-Identifier: MIT */
/* Allocates the memory of batches. It is mapped, so pages that a batch of tiny files never touches cost nothing. */
#include "content/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint8_t *batch_map(void)
{
	void *map = mmap(NULL, BATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

int batch_memory_open(struct batch_memory *memory, bool frames, struct error *err)
{
	memory->content = batch_map();
	memory->frames = frames ? batch_map() : NULL;
	if (!memory->content || (frames && !memory->frames))
		return error_no_memory(err);
	return 0;
}

void batch_memory_close(struct batch_memory *memory)
{
	if (memory->content)
		munmap(memory->content, BATCH_BYTES);
	if (memory->frames)
		munmap(memory->frames, BATCH_BYTES);
	*memory = (struct batch_memory){ 0 };
}

void batch_clear(struct batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		dirfd_release(batch->items[i].dir);
		free(batch->items[i].result.xattrs);
	}
	batch->count = batch->dirs = batch->content_used = 0;
	batch->chunk_count = batch->blocks_used = batch->frames_used = batch->names_used = 0;
	batch->result = 0;
	batch->error = (struct error){ 0 };
}

struct item *batch_add(struct batch *batch, struct dirfd *dir, struct span name, size_t content)
{
	bool new_dir = !batch->count || batch->items[batch->count - 1].dir != dir;
	struct item *item = &batch->items[batch->count];

	if (batch->count == BATCH_ITEMS || content > BATCH_BYTES - batch->content_used ||
	    (new_dir && batch->dirs == BATCH_DIRS))
		return NULL;
	*item = (struct item){ .dir = dirfd_hold(dir),
			       .name = batch->names + batch->names_used,
			       .name_length = (uint32_t)name.size,
			       .content_at = batch->content_used,
			       .length = (uint32_t)content };
	if (batch->memory.content)
		item->content = batch->memory.content + item->content_at;
	memcpy(item->name, name.base, name.size);
	item->name[name.size] = 0;
	batch->names_used += (uint32_t)name.size + 1;
	batch->content_used += (uint32_t)content;
	batch->dirs += new_dir;
	batch->count++;
	return item;
}

void batch_lend(struct batch *batch, struct batch_memory memory)
{
	batch->memory = memory;
	for (uint32_t i = 0; i < batch->count; i++)
		batch->items[i].content = memory.content + batch->items[i].content_at;
}

struct batch_memory batch_take_back(struct batch *batch)
{
	struct batch_memory memory = batch->memory;

	batch->memory = (struct batch_memory){ 0 };
	return memory;
}
