/* SPDX-License-Identifier: MIT */
/* Walks the inodes twice: first to learn where each one goes, then to write them. Both walks run the same code; in
 * the first one the sinks only count bytes. */
#include "erofs/erofs_image.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "erofs/erofs_content.h"
#include "erofs/erofs_directory.h"
#include "erofs/erofs_ends.h"
#include "erofs/erofs_format.h"
#include "erofs/erofs_packing.h"
#include "erofs/erofs_runs.h"
#include "erofs/erofs_super.h"
#include "erofs/erofs_xattrs.h"

#define IMAGE_MAP_MOST (UINT64_C(1) << 28) /* most entries in the block map of a file: 1 GiB */

struct erofs_image {
	const struct version *version;
	const struct index *index;
	uint32_t hidden_mode;
	struct erofs_content content;
	struct erofs_xattrs_table xattrs;
	struct erofs_geometry geometry;
	uint64_t *places; /* by ordinal: nid << 1; bit 0: something else follows the file's end in its last block */
	struct erofs_image_sizes sizes;
	/* The state of a walk. */
	struct erofs_packing packing;
	struct erofs_sink record, data; /* record: of an inode */
	struct erofs_runs runs;
	struct erofs_directory directory;
};

/* The place and layout of an inode's data. */
struct image_body {
	unsigned layout;
	uint64_t size;
	uint32_t data;         /* the field of the inode */
	const uint8_t *inside; /* bytes stored after the inode; NULL: the end of the file */
	uint32_t inside_length;
};

static uint64_t image_next_block(const struct erofs_image *image)
{
	return image->geometry.data_block + image->data.at / EROFS_BLOCK;
}

static uint32_t image_xattr_bytes(const struct erofs_image *image, const struct inode *inode)
{
	const struct erofs_xattr_set *set = erofs_xattrs_of(&image->xattrs, inode);

	return set ? set->bytes : 0;
}

/* Data can be inline only if it fits into one block together with its inode. */
static bool image_fits_inside(const struct erofs_image *image, const struct inode *inode, uint64_t length)
{
	return sizeof(struct erofs_inode) + image_xattr_bytes(image, inode) + length <= EROFS_BLOCK;
}

/* ---- files ---- */

static uint64_t image_block(const struct erofs_image *image, const struct erofs_run *run)
{
	return run->kind == EROFS_RUN_VOLUME ? image->geometry.starts[run->member] + run->where : run->where;
}

static bool image_is_flat(const struct erofs_image *image, const struct erofs_run *run)
{
	return run->kind == EROFS_RUN_COPY || (run->kind == EROFS_RUN_VOLUME && !image->geometry.is_indexed);
}

/* True for a file whose blocks, if any, are on the volume and whose copied end fits inline after the inode. */
static bool image_file_inside(const struct erofs_image *image, const struct inode *inode, struct image_body *body)
{
	const struct erofs_runs *runs = &image->runs;
	const struct erofs_run *last = &runs->list[runs->count - 1];
	uint32_t length = inode->size % EROFS_BLOCK;

	if (last->kind != EROFS_RUN_COPY || last->count != 1 || !length || runs->count > 2 ||
	    (runs->count == 2 && !image_is_flat(image, &runs->list[0])) || !image_fits_inside(image, inode, length))
		return false;
	body->layout = EROFS_FLAT_INLINE;
	body->inside_length = length;
	if (runs->count == 2)
		body->data = (uint32_t)image_block(image, &runs->list[0]);
	return true;
}

static int image_copy(struct erofs_image *image, const struct inode *inode, struct erofs_run *run, struct error *err)
{
	uint64_t offset = run->block * EROFS_BLOCK, length = run->count * EROFS_BLOCK;
	int r;

	run->where = image_next_block(image);
	length = length < inode->size - offset ? length : inode->size - offset;
	image->sizes.copied_bytes += length;
	r = erofs_content_copy(&image->content, inode, offset, length, &image->data, err);
	return r < 0 ? r : erofs_sink_align(&image->data, EROFS_BLOCK, err);
}

static uint32_t image_chunk_format(const struct erofs_image *image)
{
	return erofs_runs_chunk_log(&image->runs) | (image->geometry.is_indexed ? EROFS_CHUNK_INDEXES : 0) |
	       (image->geometry.is_48bit ? EROFS_CHUNK_48BIT : 0);
}

static int image_file(struct erofs_image *image, const struct inode *inode, struct image_body *body,
		      struct error *err)
{
	struct erofs_runs *runs = &image->runs;
	bool end_is_shared = image->places[inode->ordinal] & 1, is_copied;
	int r = erofs_runs_find(runs, image->index, inode, end_is_shared, &is_copied, err);

	if (r < 0 || !runs->count)
		return r;
	image->sizes.copied_files += is_copied;
	if (image_file_inside(image, inode, body)) {
		image->sizes.copied_bytes += body->inside_length;
		return 0;
	}
	for (size_t i = 0; r == 0 && i < runs->count; i++)
		if (runs->list[i].kind == EROFS_RUN_COPY)
			r = image_copy(image, inode, &runs->list[i], err);
	if (runs->count == 1 && image_is_flat(image, &runs->list[0])) {
		body->data = (uint32_t)image_block(image, &runs->list[0]);
	} else {
		body->layout = EROFS_CHUNK_BASED;
		body->data = image_chunk_format(image);
	}
	return r;
}

static int image_put_entry(struct erofs_image *image, const struct erofs_run *run, uint64_t block, struct error *err)
{
	uint64_t to = run->kind == EROFS_RUN_HOLE ? EROFS_HOLE : image_block(image, run) + (block - run->block);
	struct erofs_chunk_index index = { .block = dsfs_le32_of((uint32_t)to) };

	if (!image->geometry.is_indexed)
		return erofs_sink_put(&image->record, &index.block, sizeof(index.block), err);
	index.block_hi = dsfs_le16_of((uint16_t)(to >> 32));
	index.device = dsfs_le16_of(run->kind == EROFS_RUN_VOLUME ? (uint16_t)(run->member + 1) : 0);
	return erofs_sink_put(&image->record, &index, sizeof(index), err);
}

static uint64_t image_entry_bytes(const struct erofs_image *image)
{
	return image->geometry.is_indexed ? sizeof(struct erofs_chunk_index) : sizeof(dsfs_le32);
}

static uint64_t image_entry_count(const struct erofs_image *image)
{
	const struct erofs_run *last = &image->runs.list[image->runs.count - 1];

	return ((last->block + last->count - 1) >> erofs_runs_chunk_log(&image->runs)) + 1;
}

static int image_put_map(struct erofs_image *image, struct error *err)
{
	uint32_t log = erofs_runs_chunk_log(&image->runs);
	uint64_t count = image_entry_count(image);
	size_t cursor = 0;
	int r = erofs_sink_align(&image->record, (uint32_t)image_entry_bytes(image), err);

	if (r == 0 && !erofs_sink_is_real(&image->record))
		return erofs_sink_put(&image->record, NULL, count * image_entry_bytes(image), err);
	for (uint64_t i = 0; r == 0 && i < count; i++)
		r = image_put_entry(image, erofs_runs_at(&image->runs, i << log, &cursor), i << log, err);
	return r;
}

/* ---- directories, symbolic links ---- */

struct image_listing {
	struct erofs_image *image;
	size_t dots; /* how many of "." and ".." were added */
	uint64_t dot_nids[2];
	struct error *err;
};

static int image_compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
	int r = memcmp(a, b, a_length < b_length ? a_length : b_length);

	return r ? r : a_length < b_length ? -1 : a_length > b_length;
}

/* Adds the ones of "." and ".." that sort before name; NULL: all that are left. */
static int image_list_dots(struct image_listing *listing, const char *name, size_t length)
{
	int r = 0;

	for (; r == 0 && listing->dots < 2; listing->dots++) {
		if (name && image_compare("..", listing->dots + 1, name, length) > 0)
			break;
		r = erofs_directory_add(&listing->image->directory, "..", listing->dots + 1,
					listing->dot_nids[listing->dots], EROFS_TYPE_DIRECTORY, listing->err);
	}
	return r;
}

static int image_list_entry(void *argument, const struct names_entry *entry)
{
	struct image_listing *listing = argument;
	struct erofs_image *image = listing->image;
	uint8_t type = entry->type == DT_DIR ? EROFS_TYPE_DIRECTORY :
		       entry->type == DT_LNK ? EROFS_TYPE_SYMLINK :
					       EROFS_TYPE_FILE;
	int r = image_list_dots(listing, entry->name, entry->name_length);

	if (r < 0)
		return r;
	if (entry->ordinal > image->index->shape.inode_count)
		return error_set(listing->err, -EBADMSG, "a name has inode %" PRIu64 ", which does not exist",
				 entry->ordinal);
	return erofs_directory_add(&image->directory, entry->name, entry->name_length,
				   image->places[entry->ordinal] >> 1, type, listing->err);
}

/* Makes the last block inline if it fits. */
static int image_end_directory(struct erofs_image *image, const struct inode *inode, struct image_body *body,
			       struct error *err)
{
	struct erofs_directory *directory = &image->directory;

	erofs_directory_end(directory);
	body->size = directory->full * EROFS_BLOCK + directory->size;
	if (!image_fits_inside(image, inode, directory->size))
		return erofs_sink_put(&image->data, directory->block, EROFS_BLOCK, err);
	body->layout = EROFS_FLAT_INLINE;
	body->inside = directory->block;
	body->inside_length = directory->size;
	return 0;
}

static int image_directory(struct erofs_image *image, const struct inode *inode, struct image_body *body,
			   struct error *err)
{
	uint64_t parent = inode->ordinal == INODE_ROOT ? INODE_ROOT : inode->where;
	struct image_listing listing = { .image = image, .err = err };
	int r;

	if (parent > image->index->shape.inode_count)
		return error_set(err, -EBADMSG, "its parent is inode %" PRIu64 ", which does not exist", parent);
	listing.dot_nids[0] = image->places[inode->ordinal] >> 1;
	listing.dot_nids[1] = image->places[parent] >> 1;
	body->data = (uint32_t)image_next_block(image);
	erofs_directory_begin(&image->directory, &image->data);
	r = names_list(image->index->names, inode->ordinal, 0, image_list_entry, &listing);
	if (r == 0)
		r = image_list_dots(&listing, NULL, 0);
	if (r < 0)
		return err->code ? r : error_set(err, r, "its names cannot be read: %s", strerror(-r));
	return image_end_directory(image, inode, body, err);
}

static int image_link(struct erofs_image *image, const struct inode *inode, struct image_body *body,
		      struct error *err)
{
	struct span target;
	int r = inode_link_target(image->index, inode, &target, err);

	if (r < 0)
		return r;
	if (image_fits_inside(image, inode, target.size)) {
		body->layout = EROFS_FLAT_INLINE;
		body->inside = target.base;
		body->inside_length = (uint32_t)target.size;
		return 0;
	}
	body->data = (uint32_t)image_next_block(image);
	r = erofs_sink_put(&image->data, target.base, target.size, err);
	return r < 0 ? r : erofs_sink_align(&image->data, EROFS_BLOCK, err);
}

/* ---- inodes ---- */

/* Computes the bytes of an inode with its attributes and its inline data or block map. */
static int image_measure(const struct erofs_image *image, const struct inode *inode, const struct image_body *body,
			 uint64_t *ret, struct error *err)
{
	uint64_t bytes = sizeof(struct erofs_inode) + image_xattr_bytes(image, inode), count;

	if (body->layout == EROFS_CHUNK_BASED) {
		count = image_entry_count(image);
		if (count > IMAGE_MAP_MOST)
			return error_set(err, -EFBIG,
					 "its data and holes are too scattered for EROFS: %" PRIu64
					 " entries, at most %" PRIu64 " are possible",
					 count, IMAGE_MAP_MOST);
		bytes = round_up(bytes, image_entry_bytes(image)) + count * image_entry_bytes(image);
	}
	*ret = bytes + body->inside_length;
	return 0;
}

static void image_encode(const struct erofs_image *image, const struct inode *inode, const struct image_body *body,
			 struct erofs_inode *disk)
{
	uint32_t xattrs = image_xattr_bytes(image, inode);

	*disk = (struct erofs_inode){
		.format = dsfs_le16_of((uint16_t)(EROFS_FORMAT_EXTENDED | body->layout << 1)),
		.xattrs = dsfs_le16_of((uint16_t)(xattrs ? 1 + (xattrs - sizeof(struct erofs_xattrs)) / 4 : 0)),
		.mode = dsfs_le16_of((uint16_t)(inode->mode & ~image->hidden_mode)),
		.size = dsfs_le64_of(body->size),
		.data = dsfs_le32_of(body->data),
		.number = dsfs_le32_of((uint32_t)inode->ordinal),
		.uid = dsfs_le32_of(inode->uid),
		.gid = dsfs_le32_of(inode->gid),
		.mtime = dsfs_le64_of((uint64_t)inode->mtime),
		.mtime_nsec = dsfs_le32_of(inode->mtime_nsec),
		.nlink = dsfs_le32_of(inode->nlink),
	};
}

static int image_put_inside(struct erofs_image *image, const struct inode *inode, const struct image_body *body,
			    struct error *err)
{
	uint32_t length = body->inside_length;

	if (body->layout == EROFS_CHUNK_BASED)
		return image_put_map(image, err);
	if (!length || body->inside)
		return erofs_sink_put(&image->record, body->inside, length, err);
	return erofs_content_copy(&image->content, inode, inode->size - length, length, &image->record, err);
}

static int image_put_inode(struct erofs_image *image, const struct inode *inode, const struct image_body *body,
			   struct error *err)
{
	const struct erofs_xattr_set *set = erofs_xattrs_of(&image->xattrs, inode);
	uint64_t *place = &image->places[inode->ordinal], length = 0;
	struct erofs_inode disk;
	int r = image_measure(image, inode, body, &length, err);

	if (r == 0)
		r = erofs_packing_place(&image->packing, length, &image->record, err);
	if (r < 0)
		return r;
	*place = image->record.start / EROFS_SLOT << 1 | (*place & 1);
	image_encode(image, inode, body, &disk);
	r = erofs_sink_put(&image->record, &disk, sizeof(disk), err);
	if (r == 0 && set)
		r = erofs_xattrs_put(&image->xattrs, set, &image->record, err);
	if (r == 0)
		r = image_put_inside(image, inode, body, err);
	if (r == 0)
		r = erofs_sink_flush(&image->record, err);
	erofs_sink_close(&image->record);
	return r;
}

static int image_blame(const struct erofs_image *image, uint64_t ordinal, int r, struct error *err)
{
	char path[PATH_MAX];

	inode_path(image->index, ordinal, path, sizeof(path));
	return error_wrap(err, r, "'%s'", path);
}

static int image_inode(struct erofs_image *image, uint64_t ordinal, struct error *err)
{
	struct image_body body = { .layout = EROFS_FLAT_PLAIN };
	struct inode inode;
	int r = inode_get(image->index, ordinal, &inode, err);

	if (r < 0)
		return r;
	body.size = inode.size;
	r = S_ISDIR(inode.mode) ? image_directory(image, &inode, &body, err) :
	    S_ISLNK(inode.mode) ? image_link(image, &inode, &body, err) :
				  image_file(image, &inode, &body, err);
	if (r == 0)
		r = image_put_inode(image, &inode, &body, err);
	return r < 0 ? image_blame(image, ordinal, r, err) : 0;
}

static int image_walk(struct erofs_image *image, int fd, struct error *err)
{
	int r;

	image->sizes.copied_files = image->sizes.copied_bytes = 0;
	r = erofs_packing_open(fd, erofs_super_bytes(image->index) / EROFS_BLOCK, &image->packing, err);
	if (r == 0)
		r = erofs_sink_open(fd, image->geometry.data_block * EROFS_BLOCK, &image->data, err);
	for (uint64_t i = INODE_ROOT; r == 0 && i <= image->index->shape.inode_count; i++)
		r = image_inode(image, i, err);
	if (r == 0)
		r = erofs_packing_flush(&image->packing, err);
	if (r == 0)
		r = erofs_sink_flush(&image->data, err);
	erofs_packing_close(&image->packing);
	erofs_sink_close(&image->data);
	return r;
}

/* ---- the image ---- */

static int image_check_members(struct source *source, const struct index *index, struct error *err)
{
	for (uint32_t i = 0; i < index->member_count; i++)
		if ((index->members.count && index->members.list[i].missing_from) || !source_size(source, i))
			return error_set(err, -ENOLINK,
					 "member %" PRIu32 " of the volume is missing or stale, and the kernel knows "
					 "of no copies: 'datasetfsctl member list' shows it",
					 i);
	return 0;
}

static int image_find_ends(struct erofs_image *image, struct array_source *array, struct error *err)
{
	uint64_t ordinal;
	int r = erofs_ends_find(array, image->index, image->places, &ordinal, err);

	return r < 0 && ordinal ? image_blame(image, ordinal, r, err) : r;
}

static int image_layout(struct erofs_image *image, struct error *err)
{
	struct erofs_geometry *geometry = &image->geometry;
	int r;

	erofs_super_choose(image->index, geometry);
	r = image_walk(image, -1, err);
	if (r < 0)
		return r;
	geometry->root_nid = image->places[INODE_ROOT] >> 1;
	geometry->xattr_block = image->packing.next;
	geometry->data_block = geometry->xattr_block + round_up(image->xattrs.bytes, EROFS_BLOCK) / EROFS_BLOCK;
	geometry->blocks = image_next_block(image);
	image->sizes.bytes = geometry->blocks * EROFS_BLOCK;
	image->sizes.inodes = image->index->shape.inode_count;
	image->sizes.devices = image->index->member_count;
	image->sizes.needs_48bit = geometry->is_48bit;
	return erofs_super_number(image->index, geometry, err);
}

int erofs_image_plan(struct array_source *array, const struct version *version, const struct index *index,
		     bool suid, struct erofs_image **ret, struct error *err)
{
	struct erofs_image *image = calloc(1, sizeof(*image));
	int r = image ? 0 : error_no_memory(err);

	if (r < 0)
		return r;
	image->version = version;
	image->index = index;
	image->hidden_mode = suid ? 0 : S_ISUID | S_ISGID;
	image->places = calloc(index->shape.inode_count + 1, sizeof(*image->places));
	if (!image->places)
		r = error_no_memory(err);
	if (r == 0)
		r = image_check_members(&array->source, index, err);
	if (r == 0)
		r = erofs_content_open(&array->source, index, &image->content, err);
	if (r == 0)
		r = erofs_xattrs_collect(index, version, &image->xattrs, err);
	if (r == 0)
		r = image_find_ends(image, array, err);
	if (r == 0)
		r = image_layout(image, err);
	if (r < 0)
		erofs_image_free(image);
	else
		*ret = image;
	return r;
}

void erofs_image_free(struct erofs_image *image)
{
	if (!image)
		return;
	erofs_runs_free(&image->runs);
	erofs_xattrs_free(&image->xattrs);
	erofs_content_close(&image->content);
	free(image->places);
	free(image);
}

struct erofs_image_sizes erofs_image_sizes(const struct erofs_image *image)
{
	return image->sizes;
}

static int image_write_xattrs(const struct erofs_image *image, int fd, struct error *err)
{
	struct erofs_sink sink;
	int r = erofs_sink_open(fd, image->geometry.xattr_block * EROFS_BLOCK, &sink, err);

	if (r == 0)
		r = erofs_xattrs_put_shared(&image->xattrs, &sink, err);
	if (r == 0)
		r = erofs_sink_flush(&sink, err);
	erofs_sink_close(&sink);
	return r;
}

int erofs_image_write(struct erofs_image *image, int fd, struct error *err)
{
	int r;

	if (ftruncate(fd, (off_t)image->sizes.bytes) < 0)
		return error_errno(err, "cannot make a file of %" PRIu64 " bytes", image->sizes.bytes);
	r = erofs_super_write(image->index, image->version, &image->geometry, fd, err);
	if (r == 0)
		r = image_walk(image, fd, err);
	return r < 0 ? r : image_write_xattrs(image, fd, err);
}
