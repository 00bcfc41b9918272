/* SPDX-License-Identifier: MIT */
/* Decides which chunks are written, and whether there is room for them. */
#include "cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program/step.h"
#include "base/text/format.h"
#include "base/transfer.h"
#include "cache/folder.h"

#define STORE_LINGER INT64_C(250000000)   /* ns that a chunk waits for others to fill its slot */
#define STORE_PAUSE  INT64_C(1000000000)  /* ns until the next try after a failure */
#define STORE_LONG   INT64_C(60000000000) /* ns until the next look for slots that may be used again */
#define STORE_SAVE   INT64_C(10000000000) /* ns between two saves, if something has changed */
#define STORE_CHUNK  4096u /* bytes that a chunk counts as, at least */
#define STORE_LEAST  65536u /* chunks for which there is room in any map */
#define STORE_SPARES 2u /* times the chunks of the volume, as later versions have others */
#define STORE_MOST   16u /* times the buckets that are wanted, of a table that was saved */

/* ---- room ---- */

/* Bytes that may be written before too little of the filesystem is free. */
static uint64_t store_room(int data)
{
	struct folder_room room = { 0 };

	return folder_room(data, &room, NULL) < 0 ? 0 : room.takes;
}

/* A folder or a file that was removed would fill the disk unseen. */
bool store_is_removed(const struct store *store)
{
	struct stat data, folder;

	return fstat(store->data, &data) < 0 || fstat(store->folder, &folder) < 0 || !data.st_nlink || !folder.st_nlink;
}

static bool store_is_free(const void *argument, uint64_t block)
{
	const struct slots *slots = argument;
	uint64_t slot = block / (SLOTS_SIZE / CHUNK_MAP_BLOCK);

	return slot >= slots->count || slots_is_free(slots, (uint32_t)slot);
}

static bool store_reclaim(struct store *store)
{
	struct chunk_table *table = &store->table;

	if (!slots_reclaim(&table->slots, view_minute()))
		return false;
	(void)chunk_map_sweep(&table->map, store_is_free, &table->slots);
	return true;
}

static void store_rest(struct store *store, enum store_admission why, int64_t ns)
{
	atomic_store(&store->admission, why);
	store->resumes = clock_now() + ns;
}

/* Logs a failure once, until the store works again. */
static void store_complain(struct store *store, const struct error *why)
{
	if (!store->was_told)
		store->tell(store->owner, why);
	store->was_told = true;
}

static void store_fail(struct store *store, const struct error *why)
{
	atomic_fetch_add(&store->errors, 1);
	atomic_store(&store->failure, -why->code);
	store_complain(store, why);
	store_rest(store, STORE_FAILS, STORE_PAUSE);
}

/* Something else has filled the filesystem. */
static void store_wait_for_room(struct store *store)
{
	struct error why = { 0 };

	error_set(&why, -ENOSPC, "its filesystem is full but for the tenth that stays free, nothing is added until "
		  "there is room again");
	store_complain(store, &why);
	store_rest(store, STORE_FULL, STORE_PAUSE);
}

static void store_give_up(struct store *store)
{
	struct error why = { 0 };

	store->is_gone = true;
	atomic_store(&store->admission, STORE_REMOVED);
	error_set(&why, -ENOENT, "it was removed, nothing is added to it until the next mount");
	store->tell(store->owner, &why); /* also if something else was wrong before */
}

/* Finds a slot for a buffer. */
static bool store_begin_slot(struct store *store)
{
	struct slots *slots = &store->table.slots;

	if (store->is_gone)
		return false;
	if (store_is_removed(store)) {
		store_give_up(store);
		return false;
	}
	if (!slots->free && !store_reclaim(store)) {
		store_rest(store, STORE_FULL, STORE_LONG);
		return false;
	}
	if (store_room(store->data) < SLOTS_SIZE) {
		store_wait_for_room(store);
		return false;
	}
	if (!slots_take(slots, view_minute(), &store->slot)) {
		store_rest(store, STORE_FULL, STORE_LONG);
		return false;
	}
	chunk_table_note(&store->table);
	step("cache-slot");
	atomic_store(&store->used, slots->count - slots->free);
	return true;
}

/* ---- parts ---- */

static int store_write(const struct store *store, const struct stage_part *part, struct error *err)
{
	uint64_t offset = (uint64_t)store->slot * SLOTS_SIZE + part->from;

	if (transfer_write_at(store->data, part->buffer->bytes + part->from, part->to - part->from, offset) < 0)
		return error_errno(err, "cannot write to '%s'", STORE_DATA);
	return 0;
}

/* Lets readers find the chunks that were written. A chunk that two readers brought is there once. */
static void store_publish(struct store *store, const struct stage_part *part)
{
	struct chunk_map *map = &store->table.map;
	uint64_t first = (uint64_t)store->slot * (SLOTS_SIZE / CHUNK_MAP_BLOCK), there;
	unsigned filled = 0;

	for (unsigned i = 0; i < part->count; i++) {
		if (!chunk_map_find(map, part->chunks[i].key, &there))
			filled += chunk_map_put(map, part->chunks[i].key, first + part->chunks[i].at / CHUNK_MAP_BLOCK);
		step("cache-word");
	}
	atomic_fetch_add(&store->fills, filled);
	atomic_fetch_add(&store->dropped, part->count - filled);
	atomic_store(&store->view.is_changed, true);
}

static void store_part(struct store *store, const struct stage_part *part)
{
	struct error why = { 0 };

	if (part->is_first)
		store->has_slot = store_begin_slot(store);
	if (!part->count)
		return;
	if (!store->has_slot) {
		atomic_fetch_add(&store->dropped, part->count);
		return;
	}
	if (store_write(store, part, &why) == 0) {
		step("cache-written");
		store->was_told = false;
		store_publish(store, part);
		return;
	}
	if (part->is_first)
		slots_give(&store->table.slots, store->slot);
	store->has_slot = false;
	atomic_fetch_add(&store->dropped, part->count);
	store_fail(store, &why);
}

/* ---- the thread ---- */

/* Flushes the data first, so that after a power loss no word leads to bytes that never reached the drive. */
static int store_save_table(struct store *store, struct error *err)
{
	if (fdatasync(store->data) < 0)
		return error_errno(err, "cannot flush '%s'", STORE_DATA);
	return chunk_table_save(&store->table, store->folder, err);
}

static void store_save(struct store *store)
{
	struct error why = { 0 };

	store->saved = clock_now();
	if (store->is_gone || store->lock < 0 || !atomic_exchange(&store->view.is_changed, false))
		return;
	if (store_is_removed(store)) {
		store_give_up(store);
	} else if (store_save_table(store, &why) < 0) {
		atomic_store(&store->view.is_changed, true);
		store_fail(store, &why);
	}
}

/* Reads may look for chunks meanwhile; chunks that are not loaded yet come from the volume. */
static void store_load_saved(struct store *store)
{
	struct chunk_table *table = &store->table;
	struct error why = { 0 };
	struct stat st = { 0 };

	if (store->saved_fd >= 0 && chunk_table_load(table, store->saved_fd, &why) < 0)
		store_complain(store, &why);
	if (store->saved_fd >= 0 && fstat(store->saved_fd, &st) == 0)
		store->loaded = st.st_ino;
	close_fd(&store->saved_fd);
	atomic_store(&store->used, table->slots.count - table->slots.free);
	store->saved = clock_now();
}

/* A cache that is new has a table at once, so that other processes make theirs as large. */
static void store_begin_filling(struct store *store)
{
	struct error why = { 0 };

	if (store->locked)
		store->locked(store->owner, store->lock);
	if (ftruncate(store->data, (off_t)store->table.slots.count * SLOTS_SIZE) < 0) {
		error_errno(&why, "cannot set the size of '%s'", STORE_DATA);
		store_fail(store, &why);
		return;
	}
	atomic_store(&store->view.is_changed, !store->loaded);
	store_save(store);
	if (!store->resumes)
		atomic_store(&store->admission, STORE_ADMITS);
}

/* Loads the table that the process that fills the cache has saved since. */
static void store_follow(struct store *store, int64_t now)
{
	struct chunk_table_shape shape;
	struct stat st;

	store->saved = now;
	if (fstatat(store->folder, CHUNK_TABLE_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_ino == store->loaded ||
	    chunk_table_find(store->folder, store->table.volume, &store->saved_fd, &shape, NULL) < 0)
		return;
	if (shape.buckets == store->table.map.buckets)
		store_load_saved(store);
	close_fd(&store->saved_fd);
}

/* Goes on filling when the process that did has ended. */
static void store_try_lock(struct store *store, int64_t now)
{
	store->looked = now;
	if (folder_lock(store->folder, STORE_LOCK, &store->lock, NULL) < 0)
		return;
	store_follow(store, now);
	store_begin_filling(store);
}

/* Looks whether what kept it from filling is over. */
static void store_resume(struct store *store, int64_t now)
{
	struct slots *slots = &store->table.slots;

	if (store->is_gone || store_accepts(store) || now < store->resumes)
		return;
	if (!slots->count || (!slots->free && !store_reclaim(store)))
		store->resumes = now + STORE_LONG;
	else if (store_room(store->data) < SLOTS_SIZE)
		store->resumes = now + STORE_PAUSE;
	else
		atomic_store(&store->admission, STORE_ADMITS);
}

/* False: nothing was there within so many ns. */
static bool store_turn(struct store *store, int64_t limit)
{
	struct stage_part part;

	if (!stage_take(store->stage, limit, &part))
		return false;
	store_part(store, &part);
	stage_done(store->stage, &part);
	return true;
}

/* Does periodic work. */
static void store_look_after(struct store *store)
{
	int64_t now = clock_now();

	if (store->lock < 0 && now - store->looked >= STORE_PAUSE)
		store_try_lock(store, now);
	if (store->lock >= 0)
		store_resume(store, now);
	if (now - store->saved < STORE_SAVE)
		return;
	if (store->lock < 0)
		store_follow(store, now);
	else
		store_save(store);
}

static void store_main(void *argument)
{
	struct store *store = argument;

	store_load_saved(store);
	if (store->lock >= 0)
		store_begin_filling(store);
	else
		atomic_store(&store->admission, STORE_FOLLOWS);
	atomic_store(&store->is_loaded, true);
	while (!stage_is_closed(store->stage)) {
		(void)store_turn(store, STORE_LINGER);
		store_look_after(store);
	}
	atomic_store(&store->admission, STORE_FOLLOWS);
	while (store_turn(store, 0))
		continue;
	store_save(store);
}

/* ---- start and end ---- */

/* Sets O_DIRECT afterwards: open(2) with O_CREAT creates the file and then fails if the filesystem has no direct
 * I/O. */
static int store_open_data(int folder, int *ret, struct error *err)
{
	auto_close int fd = -1;
	struct stat st;
	int r = folder_open_file(folder, STORE_DATA, O_RDWR | O_CREAT, &fd, err);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	if (st.st_uid != geteuid() || st.st_nlink != 1)
		return error_set(err, -EPERM, "'%s' is no regular file of user %u with one name: remove it", STORE_DATA,
				 (unsigned)geteuid());
	(void)!fcntl(fd, F_SETFL, O_DIRECT);
	*ret = take_fd(&fd);
	return 0;
}

/* Finds the bytes that the cache may take in all: its present ones count as free. */
static int store_bytes(int folder, uint64_t wanted, uint64_t *ret, struct error *err)
{
	struct folder_room room = { 0 };
	uint64_t most;
	struct stat st;
	int r = folder_room(folder, &room, err);

	if (r < 0)
		return r;
	if (fstatat(folder, STORE_DATA, &st, AT_SYMLINK_NOFOLLOW) < 0)
		st.st_blocks = 0;
	most = room.size / FOLDER_SPARE * (FOLDER_SPARE - 1);
	*ret = wanted ? (wanted < most ? wanted : most) : room.takes + (uint64_t)st.st_blocks * 512;
	return 0;
}

/* Returns the number of buckets for as many chunks as the cache has room for, or for a multiple of the volume's. */
static uint64_t store_buckets(const struct store_setup *setup, uint64_t size, uint64_t times)
{
	uint64_t chunk = setup->chunks ? setup->bytes / setup->chunks : 0, room, chunks = setup->chunks * times;

	room = size / (chunk > STORE_CHUNK ? chunk : STORE_CHUNK);
	chunks = chunks > STORE_LEAST ? chunks : STORE_LEAST;
	return chunk_map_buckets(room < chunks ? room : chunks);
}

/* The table is saved to a second file before that takes the name of the first. */
static int store_shape(const struct store_setup *setup, struct chunk_table_shape *ret, struct error *err)
{
	char has[SIZE_TEXT_SIZE], least[SIZE_TEXT_SIZE];
	uint64_t size = 0, table, slots;
	int r = store_bytes(setup->folder, setup->size, &size, err);

	if (r < 0)
		return r;
	ret->buckets = store_buckets(setup, size, STORE_SPARES);
	table = 2 * chunk_map_bytes(ret->buckets);
	slots = size > table ? (size - table) / SLOTS_SIZE : 0;
	ret->slots = (uint32_t)(slots < CHUNK_TABLE_SLOTS_MAX ? slots : CHUNK_TABLE_SLOTS_MAX);
	if (slots)
		return 0;
	return error_set(err, -ENOSPC, "it may take only %s and needs %s", format_size(size, has),
			 format_size(table + SLOTS_SIZE, least));
}

/* A table of another size cannot be taken over: its words do not say where they belong. So it keeps its own, as long as
 * that is about right, or another process fills it. */
static void store_find_saved(struct store *store, const struct store_setup *setup, struct chunk_table_shape *shape)
{
	uint64_t least = store->lock < 0 ? 0 : shape->buckets / STORE_SPARES, most = shape->buckets * STORE_MOST;
	struct chunk_table_shape saved;
	struct error why = { 0 };
	int r = chunk_table_find(store->folder, setup->volume, &store->saved_fd, &saved, &why);

	if (r == 0 && saved.buckets >= least && saved.buckets <= most)
		shape->buckets = saved.buckets;
	else if (r == 0)
		close_fd(&store->saved_fd);
	else if (r != -ENOENT)
		store->tell(store->owner, &why);
}

static int store_keep_folder(struct store *store, int folder, struct error *err)
{
	store->folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	return store->folder < 0 ? error_errno(err, "cannot keep the folder open") : 0;
}

/* The lock file is not closed before the data is: this process has both, or another one may fill. */
static int store_open_files(struct store *store, int folder, struct error *err)
{
	int r = store_keep_folder(store, folder, err);

	if (r == 0)
		r = folder_lock(store->folder, STORE_LOCK, &store->lock, err);
	return r < 0 && r != -EWOULDBLOCK ? r : store_open_data(store->folder, &store->data, err);
}

static int store_prepare(struct store *store, const struct store_setup *setup, struct error *err)
{
	struct chunk_table_shape shape = { 0 };
	int r = store_shape(setup, &shape, err); /* nothing is made where there is no room */

	if (r == 0)
		r = store_open_files(store, setup->folder, err);
	if (r < 0)
		return r;
	store_find_saved(store, setup, &shape);
	r = chunk_table_new(&shape, setup->volume, &store->table, err);
	return r < 0 ? r : stage_new(&store->stage, err);
}

static int store_take(struct store *store, const struct store_setup *setup, struct error *err)
{
	struct store_kept *kept = setup->kept;
	int r = store_keep_folder(store, setup->folder, err);

	if (r == 0)
		r = chunk_table_adopt(kept->map, setup->volume, &store->table, err);
	if (r < 0)
		return r;
	(void)take_fd(&kept->map);
	store->data = take_fd(&kept->data);
	store->lock = take_fd(&kept->lock);
	return stage_new(&store->stage, err);
}

void store_free(struct store *store)
{
	stage_free(store->stage);
	chunk_table_close(&store->table);
	close_fd(&store->saved_fd);
	close_fd(&store->data);
	close_fd(&store->lock);
	close_fd(&store->folder);
	free(store);
}

static struct store *store_new(const struct store_setup *setup)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->folder = store->data = store->lock = store->saved_fd = -1;
	atomic_store(&store->admission, STORE_LOADS);
	store->view.table = &store->table;
	store->tell = setup->tell;
	store->locked = setup->locked;
	store->owner = setup->owner;
	return store;
}

int store_open(const struct store_setup *setup, struct store **ret, struct error *err)
{
	struct store *store = store_new(setup);
	int r;

	if (!store)
		return error_no_memory(err);
	r = setup->kept ? store_take(store, setup, err) : store_prepare(store, setup, err);
	if (r < 0)
		store_free(store);
	else
		*ret = store;
	return r;
}

int store_start(struct store *store, struct error *err)
{
	const struct thread_setup setup = { .run = store_main, .argument = store, .without_signals = true,
					    .what = "the thread that fills the cache" };

	return thread_start(&store->thread, 1, &setup, err);
}

bool store_stop(struct store *store)
{
	stage_close(store->stage);
	return thread_join_soon(&store->thread);
}

bool store_has_room(const struct store *store)
{
	return stage_has_room(store->stage);
}

uint64_t store_staged(const struct store *store)
{
	return stage_added(store->stage);
}

bool store_is_written(const struct store *store, uint64_t staged)
{
	return stage_settled(store->stage) >= staged;
}

struct store_state store_state(const struct store *store)
{
	return (struct store_state){ .fills = atomic_load(&store->fills),
				     .dropped = atomic_load(&store->dropped),
				     .errors = atomic_load(&store->errors),
				     .used = (uint64_t)atomic_load(&store->used) * SLOTS_SIZE,
				     .size = store_size(store) };
}

/* ---- for others ---- */

struct store_files store_look(int folder)
{
	static const char *const names[] = { CHUNK_TABLE_NAME, STORE_DATA };
	struct store_files files = { 0 };
	struct stat st;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (fstatat(folder, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		files.bytes += (uint64_t)st.st_blocks * 512;
		files.written = st.st_mtime;
	}
	return files;
}

void store_add(struct store *store, const struct chunk *chunk, const struct iovec *parts, int count)
{
	uint64_t key = chunk_map_key(chunk), there;

	if (chunk_map_find(&store->table.map, key, &there))
		return;
	if (!stage_add(store->stage, key, view_phase(chunk), parts, count))
		atomic_fetch_add_explicit(&store->dropped, 1, memory_order_relaxed);
}

/* The lock goes, too: a process that makes another one makes new data, and the one that has this one notices that its
 * data is gone. */
void store_remove(int folder)
{
	(void)unlinkat(folder, STORE_DATA, 0);
	(void)unlinkat(folder, CHUNK_TABLE_NAME, 0);
	(void)unlinkat(folder, CHUNK_TABLE_NAME ".new", 0);
	(void)unlinkat(folder, STORE_LOCK, 0);
}
