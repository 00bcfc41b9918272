/* SPDX-License-Identifier: MIT */
/* Writes entries with libarchive's pax writer, which takes bytes for holes without looking at them. */
#include "export/tar_write.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program/interrupt.h"
#include "export/tar_survey.h"
#include "image/extent.h"

#define TAR_WRITE_RECORD 10240            /* an archive's length is a multiple of it, as with tar(1) */
#define TAR_WRITE_BLOCK  (100 * TAR_WRITE_RECORD)
#define TAR_WRITE_ZEROS  ((size_t)1 << 30) /* address space only: it all maps to one page if it is ever read */
#define TAR_WRITE_SHORT  90               /* most bytes of a path that fits into the oldest header */

struct tar_write {
	struct archive *archive;
	struct archive_entry *entry; /* used again for each */
	const struct index *index;
	struct tar_survey survey;
	locale_t utf8, former;       /* libarchive parses names by the locale */
	void *zeros;
	int fd;
	uint64_t bytes;
	struct error failure; /* of a write to fd */
	bool is_finished;
};

/* The last archive that failed or was abandoned. It is not freed, but referenced here until the program ends:
 * libarchive 3.6 does not free the buffer of a failed archive, and pads an abandoned one with zeros. */
static __attribute__((used)) struct archive *tar_write_left;

/* ---- the descriptor ---- */

/* Writes some bytes; gives up if a signal interrupts a write to a full pipe, as its reader may never continue. */
static ssize_t tar_write_some(struct tar_write *tar, const void *bytes, size_t length)
{
	ssize_t n;

	while (interrupt_check(&tar->failure) == 0) {
		n = write(tar->fd, bytes, length);
		if (n >= 0 || errno != EINTR)
			return n < 0 ? error_errno(&tar->failure, "cannot write the archive") : n;
	}
	return tar->failure.code;
}

static la_ssize_t tar_write_out(struct archive *archive, void *argument, const void *bytes, size_t length)
{
	struct tar_write *tar = argument;
	ssize_t n = tar_write_some(tar, bytes, length);

	if (n < 0) {
		archive_set_error(archive, -tar->failure.code, "write");
		return n;
	}
	tar->bytes += (uint64_t)n;
	return n;
}

/* Sets the error of the last libarchive call. */
static int tar_write_failed(const struct tar_write *tar, struct error *err)
{
	const char *text = archive_error_string(tar->archive);

	if (tar->failure.code)
		return error_pass(err, tar->failure.code, &tar->failure);
	return error_set(err, -EIO, "libarchive: %s", text ? text : "no reason given");
}

/* ---- opening ---- */

static bool tar_write_set(struct tar_write *tar, const char *name, const char *value)
{
	return archive_write_set_format_option(tar->archive, "pax", name, value) == ARCHIVE_OK;
}

/* Sets libarchive's options. Attributes go into SCHILY headers, which tar(1) and bsdtar(1) read. If a name would need
 * an encoding that only libarchive undoes, they go into LIBARCHIVE headers, which tar(1) skips with a warning. */
static int tar_write_setup(struct tar_write *tar, struct error *err)
{
	struct archive *archive = tar->archive;

	if (archive_write_set_format_pax(archive) == ARCHIVE_OK &&
	    tar_write_set(tar, "xattrheader", tar->survey.has_odd_xattrs ? "LIBARCHIVE" : "SCHILY") &&
	    (!tar->survey.has_cesu || tar_write_set(tar, "hdrcharset", "BINARY")) &&
	    archive_write_set_bytes_per_block(archive, TAR_WRITE_BLOCK) == ARCHIVE_OK &&
	    archive_write_set_bytes_in_last_block(archive, TAR_WRITE_RECORD) == ARCHIVE_OK &&
	    archive_write_open2(archive, tar, NULL, tar_write_out, NULL, NULL) == ARCHIVE_OK)
		return 0;
	return tar_write_failed(tar, err);
}

int tar_write_open(int fd, const struct index *index, struct tar_write **ret, struct error *err)
{
	struct tar_write *tar = calloc(1, sizeof(*tar));
	int r;

	if (!tar)
		return error_no_memory(err);
	tar->fd = fd;
	tar->index = index;
	tar->archive = archive_write_new();
	tar->entry = archive_entry_new();
	tar->zeros = mmap(NULL, TAR_WRITE_ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* Without the option, names that are not ASCII are written as binary, which is correct too. */
	tar->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	if (tar->utf8)
		tar->former = uselocale(tar->utf8);
	if (!tar->archive || !tar->entry || tar->zeros == MAP_FAILED)
		r = error_no_memory(err);
	else
		r = tar_survey_make(index, &tar->survey, err);
	if (r == 0)
		r = tar_write_setup(tar, err);
	if (r < 0) {
		tar_write_free(tar);
		return r;
	}
	*ret = tar;
	return 0;
}

void tar_write_free(struct tar_write *tar)
{
	if (!tar)
		return;
	if (tar->is_finished)
		archive_write_free(tar->archive);
	else
		tar_write_left = tar->archive;
	archive_entry_free(tar->entry);
	if (tar->zeros && tar->zeros != MAP_FAILED)
		munmap(tar->zeros, TAR_WRITE_ZEROS);
	if (tar->utf8) {
		uselocale(tar->former);
		freelocale(tar->utf8);
	}
	free(tar);
}

uint64_t tar_write_bytes(const struct tar_write *tar)
{
	return tar->bytes;
}

/* ---- entries ---- */

static int tar_write_xattr(void *argument, struct span name, struct span value)
{
	char text[DSFS_NAME_MAX + 1] = "";

	memcpy(text, name.base, name.size < DSFS_NAME_MAX ? name.size : DSFS_NAME_MAX);
	archive_entry_xattr_add_entry(argument, text, value.base, value.size);
	return 0;
}

/* Sets the mtime. libarchive writes the seconds, a dot and the fraction. Before 1970 both are negative, so the fraction
 * counts back from the second. In the last second before 1970 the sign would be lost, so the fraction is left out. */
static void tar_write_time(struct archive_entry *entry, const struct inode *inode)
{
	if (inode->mtime >= 0 || !inode->mtime_nsec)
		archive_entry_set_mtime(entry, inode->mtime, inode->mtime_nsec);
	else if (inode->mtime < -1)
		archive_entry_set_mtime(entry, inode->mtime + 1, 1000000000 - inode->mtime_nsec);
	else
		archive_entry_set_mtime(entry, inode->mtime, 0);
}

/* Returns whether holes may be written as such. libarchive 3.6 gives a sparse file a wrong name if its path is neither
 * UTF-8 nor short enough for the oldest header; its holes are then written as zeros. */
static bool tar_write_may_have_holes(const struct tar_write *tar, const char *path)
{
	return strlen(path) <= TAR_WRITE_SHORT || (!tar->survey.has_cesu && tar_survey_is_utf8(path));
}

/* Lists the ranges with data; a file without holes gets no list. */
static int tar_write_sparse(struct archive_entry *entry, const struct index *index, const struct inode *inode,
			    struct error *err)
{
	uint64_t size = inode->size;
	int64_t end = extent_seek(index, inode, 0, true, err), data;

	if (size == 0 || end == -ENXIO || (uint64_t)end >= size)
		return 0;
	for (data = 0; end >= 0 && (uint64_t)end < size;) {
		if (end > data)
			archive_entry_sparse_add_entry(entry, data, end - data);
		data = extent_seek(index, inode, (uint64_t)end, false, err);
		if (data < 0)
			break;
		end = extent_seek(index, inode, (uint64_t)data, true, err);
	}
	if (end < 0 || (data < 0 && data != -ENXIO))
		return end < 0 ? (int)end : (int)data;
	archive_entry_sparse_add_entry(entry, data < 0 ? (int64_t)size : data, data < 0 ? 0 : end - data);
	return 0;
}

static int tar_write_target(struct archive_entry *entry, const struct index *index, const struct inode *inode,
			    struct error *err)
{
	auto_free char *text = NULL;
	struct span target;
	int r = inode_link_target(index, inode, &target, err);

	if (r < 0)
		return r;
	text = strndup((const char *)target.base, target.size);
	if (!text)
		return error_no_memory(err);
	archive_entry_copy_symlink(entry, text);
	return 0;
}

/* Sets size, holes, target and extended attributes, which only the first name of an inode gets. */
static int tar_write_inode(struct tar_write *tar, const struct stream_entry *from, struct error *err)
{
	const struct inode *inode = from->inode;
	int r = 0;

	if (S_ISREG(inode->mode))
		archive_entry_set_size(tar->entry, (int64_t)inode->size);
	if (S_ISREG(inode->mode) && tar_write_may_have_holes(tar, from->path))
		r = tar_write_sparse(tar->entry, tar->index, inode, err);
	if (S_ISLNK(inode->mode))
		r = tar_write_target(tar->entry, tar->index, inode, err);
	return r < 0 ? r : inode_xattrs(tar->index, inode, tar_write_xattr, tar->entry, err);
}

static int tar_write_head(void *argument, const struct stream_entry *from, struct error *err)
{
	struct tar_write *tar = argument;
	struct archive_entry *entry = archive_entry_clear(tar->entry);
	const struct inode *inode = from->inode;
	int r = 0;

	archive_entry_copy_pathname(entry, from->path);
	archive_entry_set_mode(entry, inode->mode);
	archive_entry_set_uid(entry, inode->uid);
	archive_entry_set_gid(entry, inode->gid);
	tar_write_time(entry, inode);
	if (from->link)
		archive_entry_copy_hardlink(entry, from->link);
	else
		r = tar_write_inode(tar, from, err);
	if (r < 0)
		return r;
	/* A warning: the name is not UTF-8 and becomes a binary one. */
	r = archive_write_header(tar->archive, entry);
	return r == ARCHIVE_OK || r == ARCHIVE_WARN ? 0 : tar_write_failed(tar, err);
}

static int tar_write_data(void *argument, const void *bytes, size_t length, struct error *err)
{
	struct tar_write *tar = argument;
	la_ssize_t n = length ? archive_write_data(tar->archive, bytes, length) : 0;

	if (n < 0)
		return tar_write_failed(tar, err);
	if ((size_t)n != length)
		return error_set(err, -EIO, "libarchive took %zd of %zu bytes", (ssize_t)n, length);
	return 0;
}

static int tar_write_hole(void *argument, uint64_t length, struct error *err)
{
	struct tar_write *tar = argument;
	int r = 0;

	for (uint64_t step; r == 0 && length; length -= step) {
		step = length < TAR_WRITE_ZEROS ? length : TAR_WRITE_ZEROS;
		r = interrupt_check(err);
		if (r == 0)
			r = tar_write_data(tar, tar->zeros, step, err);
	}
	return r;
}

const struct stream_taker tar_write_taker = {
	.head = tar_write_head,
	.data = tar_write_data,
	.hole = tar_write_hole,
};

int tar_write_finish(struct tar_write *tar, struct error *err)
{
	tar->is_finished = archive_write_close(tar->archive) == ARCHIVE_OK;
	return tar->is_finished ? 0 : tar_write_failed(tar, err);
}
