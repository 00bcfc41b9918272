/* SPDX-License-Identifier: MIT */
/* A head, the slots, and from a cache line on the words: a saved table is the same as in memory. */
#include "cache/chunk_table.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory_file.h"
#include "base/round.h"
#include "base/transfer.h"
#include "cache/folder.h"

#define CHUNK_TABLE_NEW  CHUNK_TABLE_NAME ".new"
#define CHUNK_TABLE_STEP 8192u /* words that are copied at a time, as others use them meanwhile */
#define CHUNK_TABLE_LINE (CHUNK_MAP_BUCKET * sizeof(uint64_t))

/* It cannot shrink under a mapping. F_SEAL_FUTURE_WRITE would keep a successor from writing, too; a borrower cannot
 * write, by the file's mode and the descriptor that it gets. */
#define CHUNK_TABLE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static_assert(sizeof(struct chunk_table_head) == 56, "no padding");
static_assert(sizeof(struct slot) == 8, "slots are saved as they lie in memory");

static size_t chunk_table_words_at(uint32_t slots)
{
	return round_up(sizeof(struct chunk_table_head) + slots * sizeof(struct slot), CHUNK_TABLE_LINE);
}

uint64_t chunk_table_size(const struct chunk_table_shape *shape)
{
	return chunk_table_words_at(shape->slots) + chunk_map_bytes(shape->buckets);
}

/* ---- the head ---- */

static struct chunk_table_head chunk_table_encode(const struct chunk_table *table)
{
	struct chunk_table_head head = { .magic = dsfs_le64_of(CHUNK_TABLE_MAGIC),
					 .version = dsfs_le32_of(CHUNK_TABLE_VERSION),
					 .slot_size = dsfs_le32_of(SLOTS_SIZE),
					 .buckets = dsfs_le64_of(table->map.buckets),
					 .slots = dsfs_le32_of(table->slots.count),
					 .hand = dsfs_le32_of(table->slots.hand),
					 .day = dsfs_le32_of(table->slots.day),
					 .taken = dsfs_le32_of(table->slots.taken) };

	memcpy(head.volume, table->volume, sizeof(head.volume));
	return head;
}

/* volume: the one it must be of; NULL: any. */
static int chunk_table_decode(const struct chunk_table_head *head, const uint8_t *volume, struct chunk_table_shape *ret,
			      struct error *err)
{
	uint64_t buckets = dsfs_le64_get(head->buckets);
	uint32_t slots = dsfs_le32_get(head->slots), version = dsfs_le32_get(head->version);

	if (dsfs_le64_get(head->magic) != CHUNK_TABLE_MAGIC)
		return error_set(err, -EBADMSG, "it is no map of a cache");
	if (version != CHUNK_TABLE_VERSION || dsfs_le32_get(head->slot_size) != SLOTS_SIZE)
		return error_set(err, -EBADMSG, "its format is %" PRIu32 ", expected %u", version, CHUNK_TABLE_VERSION);
	if (volume && memcmp(head->volume, volume, sizeof(head->volume)) != 0)
		return error_set(err, -EBADMSG, "it is of another volume");
	if (!buckets || buckets > CHUNK_TABLE_BUCKETS_MAX || slots > CHUNK_TABLE_SLOTS_MAX)
		return error_set(err, -EBADMSG, "%" PRIu64 " buckets and %" PRIu32 " slots are impossible", buckets,
				 slots);
	*ret = (struct chunk_table_shape){ buckets, slots };
	return 0;
}

static int chunk_table_check_size(uint64_t size, const struct chunk_table_shape *shape, struct error *err)
{
	if (size == chunk_table_size(shape))
		return 0;
	return error_set(err, -EBADMSG, "it has %" PRIu64 " bytes, expected %" PRIu64, size, chunk_table_size(shape));
}

void chunk_table_note(struct chunk_table *table)
{
	const struct chunk_table_head head = chunk_table_encode(table);

	memcpy(table->memory, &head, sizeof(head));
}

/* Where the slots go on. Any number will do: see slots_take(). */
static void chunk_table_take_turn(struct chunk_table *table, const struct chunk_table_head *head)
{
	table->slots.hand = dsfs_le32_get(head->hand);
	table->slots.day = dsfs_le32_get(head->day);
	table->slots.taken = dsfs_le32_get(head->taken);
}

/* ---- in memory ---- */

/* The memory has this shape: its size fits. */
static void chunk_table_begin(struct chunk_table *table, const struct chunk_table_shape *shape)
{
	uint8_t *bytes = table->memory;

	table->map = (struct chunk_map){ .words = (void *)(bytes + chunk_table_words_at(shape->slots)),
					 .buckets = shape->buckets };
	slots_open(&table->slots, (void *)(bytes + sizeof(struct chunk_table_head)), shape->slots);
}

static int chunk_table_map(int fd, size_t size, int access, struct chunk_table *ret, struct error *err)
{
	void *memory = mmap(NULL, size, access, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return error_errno(err, "cannot map %zu bytes", size);
	*ret = (struct chunk_table){ .memory = memory, .size = size, .fd = fd };
	return 0;
}

int chunk_table_new(const struct chunk_table_shape *shape, const uint8_t volume[16], struct chunk_table *ret,
		    struct error *err)
{
	auto_close int fd = -1;
	int r = memory_file_make("datasetfs-cache", chunk_table_size(shape), &fd, err);

	if (r == 0 && (fchmod(fd, 0600) < 0 || fcntl(fd, F_ADD_SEALS, CHUNK_TABLE_SEALS) < 0))
		r = error_errno(err, "cannot seal the map");
	if (r == 0)
		r = chunk_table_map(fd, chunk_table_size(shape), PROT_READ | PROT_WRITE, ret, err);
	if (r < 0)
		return r;
	(void)take_fd(&fd);
	memcpy(ret->volume, volume, sizeof(ret->volume));
	chunk_table_begin(ret, shape);
	chunk_table_note(ret);
	return 0;
}

/* Returns the size of a memory file that keeps it. */
static int chunk_table_check_file(int fd, size_t *ret, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & CHUNK_TABLE_SEALS) != CHUNK_TABLE_SEALS)
		return error_set(err, -EBADMSG, "its seals are %#x, expected %#x", seals < 0 ? 0 : seals,
				 CHUNK_TABLE_SEALS);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	if ((size_t)st.st_size < sizeof(struct chunk_table_head))
		return error_set(err, -EBADMSG, "it has %jd bytes, too few for a head", (intmax_t)st.st_size);
	*ret = (size_t)st.st_size;
	return 0;
}

/* Looks at a copy of the head, as another process may write to it: the one that left it may not have ended wholly. */
static int chunk_table_check_memory(struct chunk_table *table, const uint8_t *volume, struct error *err)
{
	struct chunk_table_shape shape = { 0 };
	struct chunk_table_head head;
	int r;

	memcpy(&head, table->memory, sizeof(head));
	r = chunk_table_decode(&head, volume, &shape, err);
	if (r == 0)
		r = chunk_table_check_size(table->size, &shape, err);
	if (r < 0)
		return r;
	memcpy(table->volume, head.volume, sizeof(table->volume));
	chunk_table_begin(table, &shape);
	chunk_table_take_turn(table, &head);
	return 0;
}

static int chunk_table_open(int fd, int access, const uint8_t *volume, struct chunk_table *ret, struct error *err)
{
	struct chunk_table table = { 0 };
	size_t size = 0;
	int r = chunk_table_check_file(fd, &size, err);

	if (r == 0)
		r = chunk_table_map(fd, size, access, &table, err);
	if (r < 0)
		return r;
	r = chunk_table_check_memory(&table, volume, err);
	if (r < 0)
		munmap(table.memory, table.size);
	else
		*ret = table;
	return r;
}

int chunk_table_adopt(int fd, const uint8_t volume[16], struct chunk_table *ret, struct error *err)
{
	return chunk_table_open(fd, PROT_READ | PROT_WRITE, volume, ret, err);
}

int chunk_table_borrow(int fd, struct chunk_table *ret, struct error *err)
{
	int r = chunk_table_open(fd, PROT_READ, NULL, ret, err);

	if (r == 0)
		ret->fd = -1;
	return r;
}

void chunk_table_close(struct chunk_table *table)
{
	if (!table->memory)
		return;
	munmap(table->memory, table->size);
	close_fd(&table->fd);
	*table = (struct chunk_table){ 0 };
}

/* ---- saved ---- */

static int chunk_table_write_words(int fd, const _Atomic uint64_t *words, uint64_t count)
{
	uint64_t copy[CHUNK_TABLE_STEP], step;

	for (; count; count -= step, words += step) {
		step = count < CHUNK_TABLE_STEP ? count : CHUNK_TABLE_STEP;
		for (uint64_t i = 0; i < step; i++)
			copy[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
		if (transfer_write(fd, copy, step * sizeof(*copy)) < 0)
			return -1;
	}
	return 0;
}

int chunk_table_save(struct chunk_table *table, int folder, struct error *err)
{
	auto_close int fd = -1;
	int r = 0;

	chunk_table_note(table);
	(void)unlinkat(folder, CHUNK_TABLE_NEW, 0);
	fd = openat(folder, CHUNK_TABLE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, "cannot make '%s'", CHUNK_TABLE_NEW);
	if (chunk_table_write_words(fd, table->memory, table->size / sizeof(uint64_t)) < 0)
		r = error_errno(err, "cannot write '%s'", CHUNK_TABLE_NEW);
	else
		r = folder_publish(folder, fd, CHUNK_TABLE_NEW, CHUNK_TABLE_NAME, err);
	if (r < 0)
		(void)unlinkat(folder, CHUNK_TABLE_NEW, 0);
	return r;
}

static int chunk_table_read_head(int fd, const uint8_t volume[16], struct chunk_table_head *ret,
				 struct chunk_table_shape *ret_shape, struct error *err)
{
	ssize_t n = transfer_read_at(fd, ret, sizeof(*ret), 0);

	if (n < 0)
		return error_errno(err, "read");
	if ((size_t)n < sizeof(*ret))
		return error_set(err, -EBADMSG, "it has %zd bytes, too few for a head", n);
	return chunk_table_decode(ret, volume, ret_shape, err);
}

int chunk_table_check(int fd, const uint8_t volume[16], struct chunk_table_shape *ret, struct error *err)
{
	struct chunk_table_head head;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	r = chunk_table_read_head(fd, volume, &head, ret, err);
	return r < 0 ? r : chunk_table_check_size((uint64_t)st.st_size, ret, err);
}

int chunk_table_find(int folder, const uint8_t volume[16], int *ret_fd, struct chunk_table_shape *ret,
		     struct error *err)
{
	auto_close int fd = -1;
	struct chunk_table_shape shape = { 0 };
	int r = folder_open_file(folder, CHUNK_TABLE_NAME, O_RDONLY, &fd, err);

	if (r < 0)
		return r;
	r = chunk_table_check(fd, volume, &shape, err);
	if (r < 0)
		return error_wrap(err, r, "'%s'", CHUNK_TABLE_NAME);
	*ret_fd = take_fd(&fd);
	*ret = shape;
	return 0;
}

static int chunk_table_load_words(int fd, _Atomic uint64_t *words, uint64_t count, uint64_t offset, struct error *err)
{
	uint64_t copy[CHUNK_TABLE_STEP], step;
	ssize_t n;

	for (; count; count -= step, words += step, offset += step * sizeof(*copy)) {
		step = count < CHUNK_TABLE_STEP ? count : CHUNK_TABLE_STEP;
		n = transfer_read_at(fd, copy, step * sizeof(*copy), offset);
		if (n < 0)
			return error_errno(err, "read");
		if ((size_t)n < step * sizeof(*copy))
			return error_set(err, -EBADMSG, "it was cut off");
		for (uint64_t i = 0; i < step; i++)
			atomic_store_explicit(&words[i], copy[i], memory_order_relaxed);
	}
	return 0;
}

/* A cache with a new size has other slots: words of former slots name nothing. */
int chunk_table_load(struct chunk_table *table, int fd, struct error *err)
{
	struct chunk_table_shape shape = { 0 };
	struct chunk_table_head head;
	uint32_t slots;
	int r = chunk_table_read_head(fd, table->volume, &head, &shape, err);

	if (r < 0)
		return r;
	if (shape.buckets != table->map.buckets)
		return error_set(err, -EBADMSG, "it has %" PRIu64 " buckets, expected %" PRIu64, shape.buckets,
				 table->map.buckets);
	slots = shape.slots < table->slots.count ? shape.slots : table->slots.count;
	r = chunk_table_load_words(fd, (void *)table->slots.list, slots, sizeof(head), err);
	if (r == 0)
		r = chunk_table_load_words(fd, table->map.words, shape.buckets * CHUNK_MAP_BUCKET,
					   chunk_table_words_at(shape.slots), err);
	slots_count(&table->slots); /* list and count stay as they are: readers use them */
	chunk_table_take_turn(table, &head);
	chunk_table_note(table);
	return r;
}
