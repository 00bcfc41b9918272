/* SPDX-License-Identifier: MIT */
/* The index of one version; the only user of LMDB. */
#include "image/index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "image/address.h"
#include "image/inode.h"
#include "image/names_check.h"
#include "image/records.h"
#include "image/sha256.h"
#include "image/xattr.h"

#define KEY_SIZE   (DSFS_KEY_PARENT + DSFS_NAME_MAX)
#define LOAD_STEP  (4u << 20)
#define WRITE_SIZE (UINT64_C(1) << 38) /* address space for the names being written: 256 GiB */
#define BATCH      32768u              /* entries a transaction: what is dirty stays below 20 MiB */

struct index_names {
	MDB_env *env;
	MDB_dbi dbi;
};

struct index_reader {
	struct index *index;
	MDB_txn *txn;
	MDB_cursor *cursor;
};

static int index_lmdb_error(int r, const char *what, struct error *err)
{
	int code = r == ENOMEM ? -ENOMEM : r == ENOSPC ? -ENOSPC : r > 0 ? -r : -EBADMSG;

	return error_set(err, code, "index: %s: %s", what, mdb_strerror(r));
}

static size_t index_key(uint8_t key[KEY_SIZE], uint64_t directory, const void *rest, size_t length)
{
	for (unsigned i = 0; i < DSFS_KEY_PARENT; i++)
		key[i] = (uint8_t)(directory >> (8 * (DSFS_KEY_PARENT - 1 - i)));
	memcpy(key + DSFS_KEY_PARENT, rest, length);
	return DSFS_KEY_PARENT + length;
}

/* --- opening --- */

static int index_names_open(struct index *index, struct error *err)
{
	char path[64];
	struct index_names *names = calloc(1, sizeof(*names));
	MDB_txn *txn;
	int r;

	if (!names)
		return error_set(err, -ENOMEM, "index: no memory");
	index->names = names;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", index->memfd);
	r = mdb_env_create(&names->env);
	if (r == 0)
		r = mdb_env_set_mapsize(names->env, index->shape.names_length);
	if (r == 0)
		r = mdb_env_open(names->env, path, MDB_RDONLY | MDB_NOLOCK | MDB_NOSUBDIR | MDB_NOTLS, 0400);
	if (r == 0)
		r = mdb_txn_begin(names->env, NULL, MDB_RDONLY, &txn);
	if (r != 0)
		return index_lmdb_error(r, "open", err);
	r = mdb_dbi_open(txn, NULL, 0, &names->dbi);
	mdb_txn_abort(txn);
	return r ? index_lmdb_error(r, "open", err) : 0;
}

/* Maps the section and points the flat parts into it. */
static int index_map(struct index *index, struct error *err)
{
	struct index_layout layout;
	struct span all;
	struct stat st;
	int r;

	r = index_layout(&index->shape, &layout, err);
	if (r < 0)
		return r;
	if (fstat(index->memfd, &st) < 0)
		return error_errno(err, "index: fstat");
	if ((uint64_t)st.st_size < layout.length)
		return error_set(err, -EBADMSG, "index: %" PRIu64 " bytes, its parts need %" PRIu64,
				 (uint64_t)st.st_size, layout.length);
	index->map = mmap(NULL, layout.length, PROT_READ, MAP_SHARED, index->memfd, 0);
	if (index->map == MAP_FAILED) {
		index->map = NULL;
		return error_errno(err, "index: map of %" PRIu64 " bytes", layout.length);
	}
	index->map_length = layout.length;
	all = (struct span){ index->map, layout.length };
	index->inodes.size = index->shape.inode_count * sizeof(struct dsfs_inode);
	index->inodes.base = span_at(all, layout.inodes, index->inodes.size);
	index->chunks.size = index->shape.chunk_count * sizeof(struct dsfs_chunk);
	index->chunks.base = span_at(all, layout.chunks, index->chunks.size);
	index->classes.size = index->shape.class_count * sizeof(struct dsfs_class);
	index->classes.base = span_at(all, layout.classes, index->classes.size);
	index->blob.size = index->shape.blob_length;
	index->blob.base = span_at(all, layout.blob, index->blob.size);
	return 0;
}

int index_open(int fd, const struct version *version, const uint64_t *member_sizes, uint32_t member_count,
	       struct index **ret, struct error *err)
{
	struct index *index = calloc(1, sizeof(*index));
	int r;

	if (!index)
		return error_set(err, -ENOMEM, "index: no memory");
	index->memfd = fd;
	index->shape = version->shape;
	index->chunk_log = version->chunk_log;
	index->member_count = member_count;
	index->has_lists = version->feature_incompat & DSFS_VERSION_INCOMPAT_HOLES;
	memcpy(index->member_sizes, member_sizes, member_count * sizeof(*member_sizes));
	r = index_map(index, err);
	if (r == 0)
		r = names_check(index, (struct span){ index->map, version->shape.names_length }, err);
	if (r == 0)
		r = xattr_check(index, err);
	if (r == 0)
		r = records_check(index, err);
	if (r == 0)
		r = records_measure(index, err);
	if (r == 0)
		r = index_names_open(index, err);
	if (r < 0) {
		index->memfd = -1; /* stays the caller's */
		index_close(index);
		return r;
	}
	*ret = index;
	return 0;
}

void index_close(struct index *index)
{
	if (!index)
		return;
	if (index->names && index->names->env)
		mdb_env_close(index->names->env);
	free(index->names);
	free(index->sparse);
	if (index->map)
		munmap(index->map, index->map_length);
	if (index->memfd >= 0)
		close(index->memfd);
	free(index);
}

/* --- loading --- */

static int index_copy_extent(struct source *source, const struct extent *extent, uint8_t *to, struct sha256 *sha,
			     struct error *err)
{
	uint64_t step;
	int r;

	for (uint64_t at = 0; at < extent->length; at += step) {
		step = extent->length - at < LOAD_STEP ? extent->length - at : LOAD_STEP;
		r = source_read(source, address_member(extent->address), address_offset(extent->address) + at, to + at,
				step, err);
		if (r < 0)
			return r;
		sha256_add(sha, to + at, step);
	}
	return 0;
}

static int index_copy_into(struct source *source, const struct version *version, uint8_t *to, struct sha256 *sha,
			   struct error *err)
{
	uint8_t found[SHA256_SIZE];
	int r;

	for (uint32_t i = 0; i < version->index.count; i++) {
		r = index_copy_extent(source, &version->index.items[i], to, sha, err);
		if (r < 0)
			return r;
		to += version->index.items[i].length;
	}
	r = sha256_end(sha, found, err);
	if (r < 0)
		return r;
	if (memcmp(found, version->index_sha256, sizeof(found)) != 0)
		return error_set(err, -EBADMSG, "index of version '%s': its SHA-256 is not the one in the catalogue",
				 version->label);
	return 0;
}

static int index_copy(struct source *source, const struct version *version, int fd, struct error *err)
{
	struct sha256 *sha;
	void *to;
	int r;

	if (ftruncate(fd, (off_t)version->index_length) < 0)
		return error_errno(err, "index: memory for %" PRIu64 " bytes", version->index_length);
	to = mmap(NULL, version->index_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED)
		return error_errno(err, "index: memory for %" PRIu64 " bytes", version->index_length);
	sha = sha256_new();
	r = sha ? index_copy_into(source, version, to, sha, err) : error_set(err, -ENOMEM, "index: no memory");
	sha256_free(sha);
	munmap(to, version->index_length);
	return r;
}

int index_load(struct source *source, const struct version *version, struct index **ret, struct error *err)
{
	auto_close int fd = memfd_create("datasetfs-index", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t member_sizes[1] = { source_size(source, 0) };
	int r;

	if (fd < 0)
		return error_errno(err, "index: memfd_create");
	if (version->feature_incompat & ~DSFS_VERSION_INCOMPAT_KNOWN)
		return error_set(err, -EOPNOTSUPP,
				 "version '%s': unknown incompatible features %#" PRIx64 ", a newer release is needed",
				 version->label, version->feature_incompat & ~DSFS_VERSION_INCOMPAT_KNOWN);
	if (version->chunk_sum != DSFS_SUM_XXH3_64)
		return error_set(err, -EOPNOTSUPP, "version '%s': chunk sums of kind %" PRIu32 ", this release knows %d",
				 version->label, version->chunk_sum, DSFS_SUM_XXH3_64);
	r = index_copy(source, version, fd, err);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return error_errno(err, "index: seal");
	r = index_open(fd, version, member_sizes, 1, ret, err);
	if (r == 0)
		(void)take_fd(&fd);
	return r;
}

/* --- reading --- */

int index_reader_open(struct index *index, struct index_reader **ret, struct error *err)
{
	struct index_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return error_set(err, -ENOMEM, "index: no memory");
	reader->index = index;
	r = mdb_txn_begin(index->names->env, NULL, MDB_RDONLY, &reader->txn);
	if (r == 0)
		r = mdb_cursor_open(reader->txn, index->names->dbi, &reader->cursor);
	if (r != 0) {
		index_reader_close(reader);
		return index_lmdb_error(r, "reader", err);
	}
	*ret = reader;
	return 0;
}

void index_reader_close(struct index_reader *reader)
{
	if (!reader)
		return;
	if (reader->cursor)
		mdb_cursor_close(reader->cursor);
	if (reader->txn)
		mdb_txn_abort(reader->txn);
	free(reader);
}

static uint64_t index_value_ordinal(const MDB_val *value)
{
	const uint8_t *b = value->mv_data;
	uint64_t ordinal = 0;

	for (int i = 4; i >= 0; i--)
		ordinal = ordinal << 8 | b[i];
	return ordinal;
}

int index_lookup(struct index_reader *reader, uint64_t directory, const char *name, size_t length,
		 uint64_t *ret_ordinal)
{
	uint8_t bytes[KEY_SIZE];
	MDB_val key = { .mv_data = bytes }, value;
	int r;

	if (length == 0 || length > DSFS_NAME_MAX || name[0] == 0)
		return -ENOENT;
	key.mv_size = index_key(bytes, directory, name, length);
	r = mdb_cursor_get(reader->cursor, &key, &value, MDB_SET);
	if (r == MDB_NOTFOUND)
		return -ENOENT;
	if (r != 0 || value.mv_size != sizeof(struct dsfs_entry))
		return -EBADMSG;
	*ret_ordinal = index_value_ordinal(&value);
	return 0;
}

static int index_entry_of(const MDB_val *key, const MDB_val *value, struct index_entry *entry)
{
	const uint8_t *k = key->mv_data;

	if (key->mv_size <= DSFS_KEY_PARENT || value->mv_size != sizeof(struct dsfs_entry))
		return -EBADMSG;
	entry->name = (const char *)k + DSFS_KEY_PARENT;
	entry->name_length = (uint8_t)(key->mv_size - DSFS_KEY_PARENT);
	entry->ordinal = index_value_ordinal(value);
	entry->type = ((const struct dsfs_entry *)value->mv_data)->type;
	return 0;
}

/* Puts the cursor on the directory's entry first or, by its marks, on one shortly before; tells which. */
static int index_seek(struct index_reader *reader, uint64_t directory, uint64_t first, MDB_val *key, MDB_val *value,
		      uint64_t *ret_number)
{
	uint64_t mark = first / DSFS_MARK_EVERY;
	uint8_t bytes[KEY_SIZE];
	uint8_t rest[5] = { 1 }; /* before every name, after every mark */
	int r;

	*ret_number = 0;
	key->mv_data = bytes;
	key->mv_size = index_key(bytes, directory, rest, 1);
	if (mark > 0) {
		for (int i = 0; i < 4; i++)
			rest[1 + i] = (uint8_t)(mark >> (8 * (3 - i)));
		rest[0] = 0;
		key->mv_size = index_key(bytes, directory, rest, sizeof(rest));
		r = mdb_cursor_get(reader->cursor, key, value, MDB_SET);
		if (r != 0)
			return r; /* past the last mark: past the end */
		key->mv_data = bytes;
		key->mv_size = index_key(bytes, directory, value->mv_data, value->mv_size);
		*ret_number = mark * DSFS_MARK_EVERY;
	}
	return mdb_cursor_get(reader->cursor, key, value, MDB_SET_RANGE);
}

int index_list(struct index_reader *reader, uint64_t directory, uint64_t first,
	       int (*each)(void *argument, const struct index_entry *entry), void *argument)
{
	uint8_t parent[KEY_SIZE];
	struct index_entry entry;
	MDB_val key, value;
	int r;

	index_key(parent, directory, "", 0);
	r = index_seek(reader, directory, first, &key, &value, &entry.number);
	for (; r == 0; entry.number++, r = mdb_cursor_get(reader->cursor, &key, &value, MDB_NEXT)) {
		if (key.mv_size <= DSFS_KEY_PARENT || memcmp(key.mv_data, parent, DSFS_KEY_PARENT) != 0)
			return 0;
		if (entry.number < first)
			continue;
		r = index_entry_of(&key, &value, &entry);
		if (r == 0)
			r = each(argument, &entry);
		if (r)
			return r;
	}
	return r == MDB_NOTFOUND ? 0 : -EBADMSG;
}

int index_walk(struct index_reader *reader,
	       int (*each)(void *argument, uint64_t directory, const struct index_entry *entry), void *argument)
{
	struct index_entry entry = { 0 };
	uint64_t directory = 0, parent;
	MDB_val key, value;
	int r;

	for (r = mdb_cursor_get(reader->cursor, &key, &value, MDB_FIRST); r == 0;
	     r = mdb_cursor_get(reader->cursor, &key, &value, MDB_NEXT)) {
		const uint8_t *k = key.mv_data;

		if (key.mv_size > DSFS_KEY_PARENT && k[DSFS_KEY_PARENT] == 0)
			continue; /* a mark */
		r = index_entry_of(&key, &value, &entry);
		if (r < 0)
			return r;
		parent = 0;
		for (unsigned i = 0; i < DSFS_KEY_PARENT; i++)
			parent = parent << 8 | k[i];
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

struct path_search {
	uint64_t ordinal;
	uint64_t directory;
	char name[DSFS_NAME_MAX + 1];
};

static int index_path_match(void *argument, uint64_t directory, const struct index_entry *entry)
{
	struct path_search *search = argument;

	if (entry->ordinal != search->ordinal)
		return 0;
	search->directory = directory;
	memcpy(search->name, entry->name, entry->name_length);
	search->name[entry->name_length] = 0;
	return 1;
}

static int index_path_match_child(void *argument, const struct index_entry *entry)
{
	const struct path_search *search = argument;

	return index_path_match(argument, search->directory, entry);
}

/* A directory names its parent; for anything else all entries are looked at. */
static bool index_path_find(struct index_reader *reader, struct path_search *search)
{
	struct inode inode;

	if (inode_get(reader->index, search->ordinal, &inode, NULL) < 0)
		return false;
	if (!S_ISDIR(inode.mode))
		return index_walk(reader, index_path_match, search) == 1;
	search->directory = inode.where;
	return index_list(reader, inode.where, 0, index_path_match_child, search) == 1;
}

void index_path(struct index_reader *reader, uint64_t ordinal, char *path, size_t size)
{
	struct path_search search = { .ordinal = ordinal };
	size_t used = 0, length;

	path[0] = 0;
	if (ordinal == INODE_ROOT)
		snprintf(path, size, "/");
	for (; search.ordinal != INODE_ROOT; search.ordinal = search.directory) {
		if (!index_path_find(reader, &search)) {
			snprintf(path, size, "inode %" PRIu64, ordinal);
			return;
		}
		length = strlen(search.name) + 1;
		if (used + length + 1 > size) /* keep the end of a very long path: it says most */
			return;
		memmove(path + length, path, used + 1);
		path[0] = '/';
		memcpy(path + 1, search.name, length - 1);
		used += length;
	}
}

/* --- writing --- */

struct index_writer {
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	unsigned batch;
};

static int index_writer_begin(struct index_writer *writer, struct error *err)
{
	int r = mdb_txn_begin(writer->env, NULL, 0, &writer->txn);

	if (r == 0)
		r = mdb_dbi_open(writer->txn, NULL, 0, &writer->dbi);
	writer->batch = 0;
	return r ? index_lmdb_error(r, "begin", err) : 0;
}

static int index_writer_commit(struct index_writer *writer, struct error *err)
{
	MDB_txn *txn = take_ptr(&writer->txn);
	int r = mdb_txn_commit(txn);

	return r ? index_lmdb_error(r, "commit", err) : 0;
}

int index_writer_open(const char *path, struct index_writer **ret, struct error *err)
{
	const unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NORDAHEAD;
	struct index_writer *writer = calloc(1, sizeof(*writer));
	MDB_stat stat = { 0 };
	int r;

	if (!writer)
		return error_set(err, -ENOMEM, "index: no memory");
	r = mdb_env_create(&writer->env);
	if (r == 0)
		r = mdb_env_set_mapsize(writer->env, WRITE_SIZE);
	if (r == 0)
		r = mdb_env_open(writer->env, path, flags, 0600);
	if (r == 0)
		r = mdb_env_stat(writer->env, &stat);
	r = r ? index_lmdb_error(r, path, err) : 0;
	if (r == 0 && stat.ms_psize != DSFS_BLOCK)
		r = error_set(err, -EOPNOTSUPP, "index: this machine has memory pages of %u bytes, packing needs %u",
			      stat.ms_psize, DSFS_BLOCK);
	if (r == 0)
		r = index_writer_begin(writer, err);
	if (r < 0) {
		index_writer_abort(writer);
		return r;
	}
	*ret = writer;
	return 0;
}

static int index_writer_put(struct index_writer *writer, uint64_t directory, const void *rest, size_t length,
			    const void *data, size_t data_length, struct error *err)
{
	uint8_t bytes[KEY_SIZE];
	MDB_val key = { .mv_data = bytes }, value = { .mv_size = data_length, .mv_data = (void *)data };
	int r;

	if (length > DSFS_NAME_MAX)
		return error_set(err, -ENAMETOOLONG, "index: a name of %zu bytes, expected at most %u", length,
				 DSFS_NAME_MAX);
	key.mv_size = index_key(bytes, directory, rest, length);
	r = mdb_put(writer->txn, writer->dbi, &key, &value, MDB_APPEND);
	if (r == MDB_KEYEXIST)
		return error_set(err, -EINVAL, "index: entries of directory %" PRIu64 " do not come in order", directory);
	if (r != 0)
		return index_lmdb_error(r, "add", err);
	if (++writer->batch < BATCH)
		return 0;
	r = index_writer_commit(writer, err);
	return r < 0 ? r : index_writer_begin(writer, err);
}

int index_writer_mark(struct index_writer *writer, uint64_t directory, uint32_t number, const char *name,
		      size_t length, struct error *err)
{
	uint8_t rest[5] = { 0, (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
			    (uint8_t)number };

	return index_writer_put(writer, directory, rest, sizeof(rest), name, length, err);
}

int index_writer_add(struct index_writer *writer, uint64_t directory, const char *name, size_t length,
		     uint64_t ordinal, uint8_t type, struct error *err)
{
	struct dsfs_entry entry = { .type = type };

	for (int i = 0; i < 5; i++)
		entry.ordinal[i] = (uint8_t)(ordinal >> (8 * i));
	return index_writer_put(writer, directory, name, length, &entry, sizeof(entry), err);
}

/* A compact copy has no free pages and numbers them in order: smaller, reproducible, easy to check. */
int index_writer_finish(struct index_writer *writer, int fd, uint64_t *ret_length, struct error *err)
{
	struct stat st;
	int r;

	r = index_writer_commit(writer, err);
	if (r == 0) {
		r = mdb_env_copyfd2(writer->env, fd, MDB_CP_COMPACT);
		r = r ? index_lmdb_error(r, "compact copy", err) : 0;
	}
	index_writer_abort(writer);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "index: fstat");
	*ret_length = (uint64_t)st.st_size;
	return 0;
}

void index_writer_abort(struct index_writer *writer)
{
	if (!writer)
		return;
	if (writer->txn)
		mdb_txn_abort(writer->txn);
	if (writer->env)
		mdb_env_close(writer->env);
	free(writer);
}
