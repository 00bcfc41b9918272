/* SPDX-License-Identifier: MIT */
/* The table of a cache, as another process saved it, left it in memory or lends it: all ways take the same, and
 * whatever its slots and words are, places lie in the data and slots can be taken, used again and saved. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache/store.h"
#include "fuzz/fuzz.h"

#define CHUNKS 40u /* whose words the seeds have: as seed_chunk_table() in make-corpus.c */
#define NOW    (20000u * SLOTS_DAY)

static const uint8_t volume[16] = "volume of a test";

static void check(bool holds)
{
	if (!holds)
		__builtin_trap();
}

/* Returns a memory file with these bytes. */
static int file_of(const uint8_t *bytes, size_t length, int seals)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	check(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	check(!seals || fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

static void use_words(struct view *view)
{
	uint64_t place;

	for (uint32_t i = 0; i < CHUNKS; i++) {
		const struct chunk chunk = { .address = (1u << 20) + i * 5000, .stored = 4000 };

		if (!view_find(view, &chunk, &place))
			continue;
		check(place % CHUNK_MAP_BLOCK == chunk.address % CHUNK_MAP_BLOCK);
		check(place + chunk.stored <= view_size(view));
		view_hit(view, place);
		view_forget(view, &chunk, place);
		check(!view->lent || !view_find(view, &chunk, &place));
	}
}

static void use_slots(struct slots *slots)
{
	uint32_t slot, taken = 0;

	(void)slots_reclaim(slots, NOW);
	while (slots_take(slots, NOW + SLOTS_DAY, &slot)) {
		check(slot < slots->count && !slots_is_free(slots, slot));
		taken++;
	}
	check(taken <= slots->count);
}

static bool is_beyond(const void *argument, uint64_t block)
{
	return block >= *(const uint64_t *)argument;
}

static void use(const struct chunk_table *table)
{
	struct store store = { .table = *table, .view.table = &store.table };
	uint64_t blocks = store_size(&store) / CHUNK_MAP_BLOCK;

	use_words(&store.view);
	use_slots(&store.table.slots);
	check(chunk_map_sweep(&store.table.map, is_beyond, &blocks) <= table->map.buckets * CHUNK_MAP_BUCKET);
	chunk_table_note(&store.table);
}

/* Loads it into a table of its own shape, and into one with other slots. */
static void load(int fd, const uint8_t of_volume[16], const struct chunk_table_shape *shape, uint32_t slots)
{
	const struct chunk_table_shape of = { shape->buckets, slots };
	struct chunk_table table;

	if (chunk_table_new(&of, of_volume, &table, NULL) < 0)
		return;
	check(chunk_table_load(&table, fd, NULL) == 0);
	check(table.map.buckets == shape->buckets && table.slots.count == slots);
	use(&table);
	chunk_table_close(&table);
}

static bool is_saved(const uint8_t of_volume[16], const uint8_t *bytes, size_t length)
{
	struct chunk_table_shape shape = { 0 };
	struct error err = { 0 };
	int fd = file_of(bytes, length, 0), r = chunk_table_check(fd, of_volume, &shape, &err);

	if (r == 0) {
		check(chunk_table_size(&shape) == length);
		load(fd, of_volume, &shape, shape.slots);
		load(fd, of_volume, &shape, 3);
	}
	check(r == 0 || err.reason[0]);
	close(fd);
	return r == 0;
}

/* A borrower changes no byte. It comes before who goes on with the table. */
static bool is_lent(int fd, const uint8_t *bytes, size_t length)
{
	int data = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct error err = { 0 };
	struct view *view;

	check(data >= 0);
	if (view_borrow(fd, data, &view, &err) < 0) {
		check(err.reason[0]);
		close(data);
		return false;
	}
	use_words(view);
	check(!memcmp(view->table->memory, bytes, length));
	view_return(view);
	return true;
}

static bool is_left(int fd)
{
	struct error err = { 0 };
	struct chunk_table table;

	if (chunk_table_adopt(fd, volume, &table, &err) < 0) {
		check(err.reason[0]);
		close(fd);
		return false;
	}
	use(&table);
	chunk_table_close(&table);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	int fd = file_of(bytes, length, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	bool has_head = length >= sizeof(struct chunk_table_head);
	const uint8_t *named = has_head ? bytes + offsetof(struct chunk_table_head, volume) : volume;
	bool is_sound = is_saved(named, bytes, length);

	check(is_lent(fd, bytes, length) == is_sound);
	check(is_left(fd) == (is_sound && !memcmp(named, volume, sizeof(volume))));
	return 0;
}
