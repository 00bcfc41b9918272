/* SPDX-License-Identifier: MIT */
/* Copies a section into a memfd, hashes it, checks it, seals it and opens it. */
#include "image/catalogue/index_load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "image/catalogue/sections.h"
#include "image/entries.h"
#include "image/inode.h"
#include "image/names/names.h"
#include "image/places.h"
#include "image/records.h"
#include "image/sums/sum.h"
#include "image/xattr.h"

#define LOAD_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static int index_load_check(struct index *index, struct error *err)
{
	int r = entries_check(index, (struct span){ index->map, index->shape.names_length }, err);

	if (r == 0)
		r = xattr_check(index, err);
	if (r == 0)
		r = records_check(index, err);
	if (r == 0)
		r = records_measure(index, err);
	if (r == 0)
		r = places_check(index, err);
	return r;
}

int index_load_count(const struct index *index, const struct version *version, struct error *err)
{
	uint64_t files = 0, directories = 0, symlinks = 0, bytes = 0;
	struct inode inode;
	int r;

	for (uint64_t ordinal = INODE_ROOT; ordinal <= index->shape.inode_count; ordinal++) {
		r = inode_get(index, ordinal, &inode, err);
		if (r < 0)
			return r;
		files += S_ISREG(inode.mode);
		directories += S_ISDIR(inode.mode);
		symlinks += S_ISLNK(inode.mode);
		bytes += S_ISREG(inode.mode) ? inode.size : 0;
	}
	if (files == version->file_count && directories == version->directory_count &&
	    symlinks == version->symlink_count && bytes == version->content_bytes)
		return 0;
	return error_set(err, -EBADMSG,
			 "version '%s': the index has %" PRIu64 " files, %" PRIu64 " directories, %" PRIu64
			 " symbolic links and %" PRIu64 " bytes, the catalogue says %" PRIu64 ", %" PRIu64 ", %" PRIu64
			 " and %" PRIu64, version->label, files, directories, symlinks, bytes, version->file_count,
			 version->directory_count, version->symlink_count, version->content_bytes);
}

/* Returns an object for the section in fd, NULL without memory. */
static struct index *index_load_new(int fd, const struct version *version)
{
	struct index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	index->memfd = fd;
	index->shape = version->shape;
	index->chunk_log = version->chunk_log;
	index->has_lists = version->feature_incompat & DSFS_VERSION_INCOMPAT_HOLES;
	return index;
}

static int index_load_map(struct index *index, uint64_t member_size, const struct members *members, struct error *err)
{
	int r = index ? index_set_members(index, member_size, members, err) : error_no_memory(err);

	return r < 0 ? r : index_map(index, err);
}

/* Opens the names, if all went well so far, or else closes the index without its descriptor. */
static int index_load_end(struct index *index, int r, struct index **ret, struct error *err)
{
	if (r == 0)
		r = names_open(index->memfd, (struct span){ index->map, index->shape.names_length }, &index->names,
			       err);
	if (r == 0) {
		*ret = index;
		return 0;
	}
	if (index)
		index->memfd = -1; /* stays the caller's */
	index_close(index);
	return r;
}

int index_load_fd(int fd, const struct version *version, uint64_t member_size, const struct members *members,
		  struct index **ret, struct error *err)
{
	struct index *index = index_load_new(fd, version);
	int r = index_load_map(index, member_size, members, err);

	if (r == 0)
		r = index_load_check(index, err);
	return index_load_end(index, r, ret, err);
}

int index_load_sealed(int fd, const struct version *version, uint64_t member_size,
		      const struct members *members, struct index **ret, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS), r;
	struct index *index;
	struct stat st;

	if (seals < 0 || (seals & LOAD_SEALS) != LOAD_SEALS)
		return error_set(err, -EPROTO, "index: it has the seals %#x, expected %#x", seals < 0 ? 0 : seals,
				 LOAD_SEALS);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "index: fstat");
	if ((uint64_t)st.st_size != version->index.length)
		return error_set(err, -EPROTO, "index: %" PRIu64 " bytes, expected %" PRIu64, (uint64_t)st.st_size,
				 version->index.length);
	index = index_load_new(fd, version);
	r = index_load_map(index, member_size, members, err);
	return index_load_end(index, r, ret, err);
}

static int index_copy_into(const struct sections_query *query, const struct version *version, uint8_t *to,
			   struct error *err)
{
	int r = sections_read(query, to, err);

	if (r == -EBADMSG)
		return error_set(err, -EBADMSG, "index of version '%s': its SHA-256 is not the one in the catalogue",
				 version->label);
	return r;
}

static int index_copy(const struct sections_query *query, const struct version *version, int fd, struct error *err)
{
	void *to;
	int r;

	if (ftruncate(fd, (off_t)version->index.length) < 0)
		return error_errno(err, "index: memory for %" PRIu64 " bytes", version->index.length);
	to = mmap(NULL, version->index.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED)
		return error_errno(err, "index: memory for %" PRIu64 " bytes", version->index.length);
	r = index_copy_into(query, version, to, err);
	munmap(to, version->index.length);
	return r;
}

static int index_load_section(const struct sections_query *query, struct backing backing,
			      const struct version *version, struct index **ret, struct error *err)
{
	auto_close int fd = memfd_create("datasetfs-index", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct index *index = NULL;
	int r;

	if (fd < 0)
		return error_errno(err, "index: memfd_create");
	if (version->feature_incompat & ~DSFS_VERSION_INCOMPAT_KNOWN)
		return error_set(err, -EOPNOTSUPP,
				 "version '%s': unknown incompatible features %#" PRIx64 ", a newer release is needed",
				 version->label, version->feature_incompat & ~DSFS_VERSION_INCOMPAT_KNOWN);
	r = sum_check_kind(version->shape.chunk_sum, version->label, err);
	if (r == 0)
		r = index_copy(query, version, fd, err);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, LOAD_SEALS) < 0)
		return error_errno(err, "index: seal");
	r = index_load_fd(fd, version, backing.size, backing.members, &index, err);
	if (r < 0)
		return r;
	(void)take_fd(&fd);
	r = index_load_count(index, version, err);
	if (r < 0)
		index_close(index);
	else
		*ret = index;
	return r;
}

int index_load(struct backing backing, const struct version *version, struct index **ret, struct error *err)
{
	const struct sections_query query = { backing, &version->index.extents, version->index.length,
					      version->index.sha256 };

	return index_load_section(&query, backing, version, ret, err);
}

int index_load_copy(struct source *copy, uint64_t at, struct backing backing, const struct version *version,
		    struct index **ret, struct error *err)
{
	struct extent all = { at, version->index.length };
	const struct extent_list extents = { &all, 1 };
	const struct sections_query query = { backing_of(copy, NULL), &extents, version->index.length,
					      version->index.sha256 };

	return index_load_section(&query, backing, version, ret, err);
}
