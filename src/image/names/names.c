/* SPDX-License-Identifier: MIT */
/* The names part of an index; the only user of LMDB. */
#include "image/names/names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/same.h"
#include "datasetfs/format.h"
#include "image/names/names_find.h"
#include "image/names/names_page.h"

#define KEY_SIZE   (DSFS_KEY_PARENT + DSFS_NAME_MAX)
#define WRITE_SIZE (UINT64_C(1) << 38) /* address space for the names being written: 256 GiB */
#define BATCH      32768u              /* entries a transaction, so that dirty pages stay below 20 MiB */

struct names {
	MDB_env *env;
	MDB_dbi dbi;
	struct stat file; /* the file that LMDB has open */
	struct names_tree tree;
	_Atomic(struct names_cursor *) idle; /* one that no thread uses; NULL: there is none */
};

/* LMDB's handle, which one thread at a time may use. */
struct names_cursor {
	struct names *names;
	MDB_txn *txn;
	MDB_cursor *cursor;
};

static int names_lmdb_error(int r, const char *what, struct error *err)
{
	int code = r == ENOMEM ? -ENOMEM : r == ENOSPC ? -ENOSPC : r > 0 ? -r : -EBADMSG;

	return error_set(err, code, "index: %s: %s", what, mdb_strerror(r));
}

static size_t names_key(uint8_t key[KEY_SIZE], uint64_t directory, const void *rest, size_t length)
{
	for (unsigned i = 0; i < DSFS_KEY_PARENT; i++)
		key[i] = (uint8_t)(directory >> (8 * (DSFS_KEY_PARENT - 1 - i)));
	memcpy(key + DSFS_KEY_PARENT, rest, length);
	return DSFS_KEY_PARENT + length;
}

static uint64_t names_key_directory(const uint8_t *key)
{
	uint64_t directory = 0;

	for (unsigned i = 0; i < DSFS_KEY_PARENT; i++)
		directory = directory << 8 | key[i];
	return directory;
}

/* --- cursors --- */

static void names_cursor_free(struct names_cursor *cursor)
{
	if (!cursor)
		return;
	if (cursor->cursor)
		mdb_cursor_close(cursor->cursor);
	if (cursor->txn)
		mdb_txn_abort(cursor->txn);
	free(cursor);
}

/* NULL: no memory. */
static struct names_cursor *names_cursor_new(struct names *names)
{
	struct names_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return NULL;
	cursor->names = names;
	if (mdb_txn_begin(names->env, NULL, MDB_RDONLY, &cursor->txn) == 0 &&
	    mdb_cursor_open(cursor->txn, names->dbi, &cursor->cursor) == 0)
		return cursor;
	names_cursor_free(cursor);
	return NULL;
}

/* Takes the idle cursor, or makes one if other threads read as well; NULL: no memory. There is no lock, which a forked
 * child could inherit. */
static struct names_cursor *names_cursor_take(struct names *names)
{
	struct names_cursor *idle = atomic_exchange(&names->idle, NULL);

	return idle ? idle : names_cursor_new(names);
}

static void names_cursor_give(struct names_cursor **cursor)
{
	if (*cursor)
		names_cursor_free(atomic_exchange(&(*cursor)->names->idle, *cursor));
}

#define auto_give cleanup(names_cursor_give)

/* --- opening --- */

/* Sets close-on-exec, which LMDB leaves off, and remembers which file it is. */
static int names_keep(struct names *names)
{
	int fd;

	if (mdb_env_get_fd(names->env, &fd) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fstat(fd, &names->file) < 0)
		return EIO;
	return 0;
}

static int names_open_lmdb(struct names *names, int fd, uint64_t length)
{
	char path[FDNAME_LINK_SIZE];
	MDB_txn *txn;
	int r;

	/* LMDB opens a file by name; an unnamed one has a name in /proc. */
	fdname_link(fd, path);
	r = mdb_env_create(&names->env);
	if (r == 0)
		r = mdb_env_set_mapsize(names->env, length);
	if (r == 0)
		r = mdb_env_open(names->env, path, MDB_RDONLY | MDB_NOLOCK | MDB_NOSUBDIR | MDB_NOTLS, 0400);
	if (r == 0)
		r = names_keep(names);
	if (r == 0)
		r = mdb_txn_begin(names->env, NULL, MDB_RDONLY, &txn);
	if (r == 0) {
		r = mdb_dbi_open(txn, NULL, 0, &names->dbi);
		mdb_txn_abort(txn);
	}
	return r;
}

int names_open(int fd, struct span file, struct names **ret, struct error *err)
{
	struct names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return error_no_memory(err);
	r = names_open_lmdb(names, fd, file.size);
	r = r ? names_lmdb_error(r, "open", err) : names_find_open(file, &names->tree, err);
	if (r < 0) {
		names_close(names);
		return r;
	}
	*ret = names;
	return 0;
}

/* False if the program closed unknown descriptors and LMDB's number now belongs to a file of its own. */
static bool names_is_kept(const struct names *names)
{
	int fd;

	return !names->file.st_ino || (mdb_env_get_fd(names->env, &fd) == 0 && same_fd(fd, &names->file));
}

void names_close(struct names *names)
{
	if (!names)
		return;
	names_cursor_free(atomic_load(&names->idle));
	if (names->env && names_is_kept(names)) /* LMDB would close it */
		mdb_env_close(names->env);
	free(names);
}

/* --- reading --- */

static uint64_t names_value_ordinal(const MDB_val *value)
{
	const uint8_t *b = value->mv_data;
	uint64_t ordinal = 0;

	for (int i = 4; i >= 0; i--)
		ordinal = ordinal << 8 | b[i];
	return ordinal;
}

const struct names_tree *names_tree(const struct names *names)
{
	return &names->tree;
}

/* Looks up without LMDB, which waits for the memory of one comparison after the other. */
int names_lookup(const struct names *names, uint64_t directory, const char *name, size_t length,
		 uint64_t *ret_ordinal)
{
	struct names_find find;
	int r;

	names_find_begin(&find, &names->tree, directory, name, length);
	do
		r = names_find_step(&find, ret_ordinal);
	while (r > 0);
	return r;
}

static int names_entry_of(const MDB_val *key, const MDB_val *value, struct names_entry *entry)
{
	const uint8_t *k = key->mv_data;

	if (key->mv_size <= DSFS_KEY_PARENT || value->mv_size != sizeof(struct dsfs_entry))
		return -EBADMSG;
	entry->name = (const char *)k + DSFS_KEY_PARENT;
	entry->name_length = (uint8_t)(key->mv_size - DSFS_KEY_PARENT);
	entry->ordinal = names_value_ordinal(value);
	entry->type = ((const struct dsfs_entry *)value->mv_data)->type;
	return 0;
}

/* Puts the cursor on the directory's entry first or, by its marks, on one shortly before; returns which. */
static int names_seek(MDB_cursor *cursor, uint64_t directory, uint64_t first, MDB_val *key, MDB_val *value,
		      uint64_t *ret_number)
{
	uint64_t mark = first / DSFS_MARK_EVERY;
	uint8_t bytes[KEY_SIZE];
	uint8_t rest[5] = { 1 }; /* before every name, after every mark */
	int r;

	*ret_number = 0;
	key->mv_data = bytes;
	key->mv_size = names_key(bytes, directory, rest, 1);
	if (mark > 0) {
		for (int i = 0; i < 4; i++)
			rest[1 + i] = (uint8_t)(mark >> (8 * (3 - i)));
		rest[0] = 0;
		key->mv_size = names_key(bytes, directory, rest, sizeof(rest));
		r = mdb_cursor_get(cursor, key, value, MDB_SET);
		if (r != 0)
			return r; /* past the last mark: past the end */
		key->mv_data = bytes;
		key->mv_size = names_key(bytes, directory, value->mv_data, value->mv_size);
		*ret_number = mark * DSFS_MARK_EVERY;
	}
	return mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
}

int names_list(struct names *names, uint64_t directory, uint64_t first,
	       int (*each)(void *argument, const struct names_entry *entry), void *argument)
{
	auto_give struct names_cursor *cursor = names_cursor_take(names);
	uint8_t parent[KEY_SIZE];
	struct names_entry entry;
	MDB_val key, value;
	int r;

	if (!cursor)
		return -ENOMEM;
	names_key(parent, directory, "", 0);
	r = names_seek(cursor->cursor, directory, first, &key, &value, &entry.number);
	for (; r == 0; entry.number++, r = mdb_cursor_get(cursor->cursor, &key, &value, MDB_NEXT)) {
		if (key.mv_size <= DSFS_KEY_PARENT || memcmp(key.mv_data, parent, DSFS_KEY_PARENT) != 0)
			return 0;
		if (entry.number < first)
			continue;
		r = names_entry_of(&key, &value, &entry);
		if (r == 0)
			r = each(argument, &entry);
		if (r)
			return r;
	}
	return r == MDB_NOTFOUND ? 0 : -EBADMSG;
}

/* Marks sort before the entries, so a directory with marks is searched again after them. */
int names_first(struct names *names, uint64_t directory, uint64_t *ret_directory, uint64_t *ret_ordinal)
{
	auto_give struct names_cursor *cursor = names_cursor_take(names);
	struct names_entry entry;
	const uint8_t *found;
	uint8_t bytes[KEY_SIZE];
	MDB_val key, value;
	int r;

	if (!cursor)
		return -ENOMEM;
	for (;; directory = names_key_directory(found)) {
		key = (MDB_val){ names_key(bytes, directory, "\1", 1), bytes };
		r = mdb_cursor_get(cursor->cursor, &key, &value, MDB_SET_RANGE);
		if (r != 0)
			return r == MDB_NOTFOUND ? -ENOENT : -EBADMSG;
		found = key.mv_data;
		if (key.mv_size <= DSFS_KEY_PARENT)
			return -EBADMSG;
		if (found[DSFS_KEY_PARENT] != 0)
			break;
	}
	r = names_entry_of(&key, &value, &entry);
	if (r < 0)
		return r;
	*ret_directory = names_key_directory(found);
	*ret_ordinal = entry.ordinal;
	return 0;
}

int names_last(struct names *names, uint64_t *ret_directory)
{
	auto_give struct names_cursor *cursor = names_cursor_take(names);
	MDB_val key, value;
	int r;

	if (!cursor)
		return -ENOMEM;
	r = mdb_cursor_get(cursor->cursor, &key, &value, MDB_LAST);
	if (r != 0 || key.mv_size < DSFS_KEY_PARENT)
		return r == MDB_NOTFOUND ? -ENOENT : -EBADMSG;
	*ret_directory = names_key_directory(key.mv_data);
	return 0;
}

int names_walk(struct names *names,
	       int (*each)(void *argument, uint64_t directory, const struct names_entry *entry), void *argument)
{
	auto_give struct names_cursor *cursor = names_cursor_take(names);
	struct names_entry entry = { 0 };
	uint64_t directory = 0, parent;
	MDB_val key, value;
	int r;

	if (!cursor)
		return -ENOMEM;
	for (r = mdb_cursor_get(cursor->cursor, &key, &value, MDB_FIRST); r == 0;
	     r = mdb_cursor_get(cursor->cursor, &key, &value, MDB_NEXT)) {
		const uint8_t *k = key.mv_data;

		if (key.mv_size > DSFS_KEY_PARENT && k[DSFS_KEY_PARENT] == 0)
			continue; /* a mark */
		r = names_entry_of(&key, &value, &entry);
		if (r < 0)
			return r;
		parent = names_key_directory(k);
		if (parent != directory)
			entry.number = 0;
		directory = parent;
		r = each(argument, directory, &entry);
		if (r)
			return r;
		entry.number++;
	}
	return r == MDB_NOTFOUND ? 0 : -EBADMSG;
}

/* --- writing --- */

struct names_writer {
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	unsigned batch;
};

static int names_writer_begin(struct names_writer *writer, struct error *err)
{
	int r = mdb_txn_begin(writer->env, NULL, 0, &writer->txn);

	if (r == 0)
		r = mdb_dbi_open(writer->txn, NULL, 0, &writer->dbi);
	writer->batch = 0;
	return r ? names_lmdb_error(r, "begin", err) : 0;
}

static int names_writer_commit(struct names_writer *writer, struct error *err)
{
	MDB_txn *txn = take_ptr(&writer->txn);
	int r = mdb_txn_commit(txn);

	return r ? names_lmdb_error(r, "commit", err) : 0;
}

/* Writes the meta pages of an empty environment, as LMDB would. It takes the page size of a new file from the machine,
 * but that of an existing one from these pages. */
static int names_writer_format(int fd, struct error *err)
{
	uint8_t pages[LMDB_METAS * NAMES_PAGE] = { 0 };
	struct lmdb_meta meta = {
		.page.flags = dsfs_le16_of(LMDB_META),
		.magic = dsfs_le32_of(LMDB_MAGIC),
		.version = dsfs_le32_of(LMDB_VERSION),
		.map_size = dsfs_le64_of(WRITE_SIZE),
		.free_list = { .pad = dsfs_le32_of(NAMES_PAGE), .flags = dsfs_le16_of(LMDB_FLAGS),
			       .root = dsfs_le64_of(LMDB_NO_PAGE) },
		.names.root = dsfs_le64_of(LMDB_NO_PAGE),
		.last_page = dsfs_le64_of(LMDB_METAS - 1),
	};
	ssize_t n;

	for (uint64_t i = 0; i < LMDB_METAS; i++) {
		meta.page.number = dsfs_le64_of(i);
		memcpy(pages + i * NAMES_PAGE, &meta, sizeof(meta));
	}
	n = pwrite(fd, pages, sizeof(pages), 0);
	if (n < 0)
		return error_errno(err, "index: cannot write the names");
	return n == (ssize_t)sizeof(pages) ? 0 : names_lmdb_error(ENOSPC, "cannot write the names", err);
}

static int names_writer_open_lmdb(struct names_writer *writer, int fd, struct error *err)
{
	const unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NORDAHEAD;
	char path[FDNAME_LINK_SIZE];
	int r;

	fdname_link(fd, path);
	r = mdb_env_create(&writer->env);
	if (r == 0)
		r = mdb_env_set_mapsize(writer->env, WRITE_SIZE);
	if (r == 0)
		r = mdb_env_open(writer->env, path, flags, 0600);
	return r ? names_lmdb_error(r, "open", err) : 0;
}

int names_writer_open(int fd, struct names_writer **ret, struct error *err)
{
	struct names_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return error_no_memory(err);
	r = names_writer_format(fd, err);
	if (r == 0)
		r = names_writer_open_lmdb(writer, fd, err);
	if (r == 0)
		r = names_writer_begin(writer, err);
	if (r < 0) {
		names_writer_abort(writer);
		return r;
	}
	*ret = writer;
	return 0;
}

/* rest: the part of the key behind the directory. */
static int names_writer_put(struct names_writer *writer, uint64_t directory, struct span rest, struct span data,
			    struct error *err)
{
	uint8_t bytes[KEY_SIZE];
	MDB_val key = { .mv_data = bytes }, value = { .mv_size = data.size, .mv_data = (void *)data.base };
	int r;

	if (rest.size > DSFS_NAME_MAX)
		return error_set(err, -ENAMETOOLONG, "index: a name of %" PRIu64 " bytes, expected at most %u",
				 rest.size, DSFS_NAME_MAX);
	key.mv_size = names_key(bytes, directory, rest.base, rest.size);
	r = mdb_put(writer->txn, writer->dbi, &key, &value, MDB_APPEND);
	if (r == MDB_KEYEXIST)
		return error_set(err, -EINVAL, "index: entries of directory %" PRIu64 " do not come in order",
				 directory);
	if (r != 0)
		return names_lmdb_error(r, "add", err);
	if (++writer->batch < BATCH)
		return 0;
	r = names_writer_commit(writer, err);
	return r < 0 ? r : names_writer_begin(writer, err);
}

int names_writer_mark(struct names_writer *writer, uint64_t directory, uint32_t number, struct span name,
		      struct error *err)
{
	uint8_t rest[5] = { 0, (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
			    (uint8_t)number };

	return names_writer_put(writer, directory, span_of(rest, sizeof(rest)), name, err);
}

int names_writer_add(struct names_writer *writer, uint64_t directory, struct span name, uint64_t ordinal,
		     uint8_t type, struct error *err)
{
	struct dsfs_entry entry = { .type = type };

	for (int i = 0; i < 5; i++)
		entry.ordinal[i] = (uint8_t)(ordinal >> (8 * i));
	return names_writer_put(writer, directory, name, span_of(&entry, sizeof(entry)), err);
}

/* A compact copy has no free pages and numbers them in order: smaller, reproducible, easy to check. */
int names_writer_finish(struct names_writer *writer, int fd, uint64_t *ret_length, struct error *err)
{
	struct stat st;
	int r;

	r = names_writer_commit(writer, err);
	if (r == 0) {
		r = mdb_env_copyfd2(writer->env, fd, MDB_CP_COMPACT);
		r = r ? names_lmdb_error(r, "compact copy", err) : 0;
	}
	names_writer_abort(writer);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "index: fstat");
	*ret_length = (uint64_t)st.st_size;
	return 0;
}

void names_writer_abort(struct names_writer *writer)
{
	if (!writer)
		return;
	if (writer->txn)
		mdb_txn_abort(writer->txn);
	if (writer->env)
		mdb_env_close(writer->env);
	free(writer);
}
