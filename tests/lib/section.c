/* SPDX-License-Identifier: MIT */
/* A tiny packer of index sections for tests. */
#include "lib/section.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/names/names.h"
#include "lib/check.h"

static uint64_t section_inode(struct section *section, uint32_t mode, uint64_t size, uint64_t where)
{
	uint64_t n = section->inode_count++;

	assert_true(n < SECTION_MAX);
	section->inodes[n] = (struct inode){
		.ordinal = n + 1, .nlink = 1, .size = size, .mtime = 1700000000, .mtime_nsec = 5, .where = where
	};
	section->class_table[section->class_count] = (struct dsfs_class){
		.mode = dsfs_le32_of(mode), .uid = dsfs_le32_of(1000), .gid = dsfs_le32_of(100)
	};
	section->classes[n] = (uint32_t)section->class_count++;
	return n + 1;
}

static struct member section_list[2] = { { .uuid = "a", .size = UINT64_C(4) << DSFS_SEGMENT_LOG_MIN },
					 { .uuid = "b", .size = UINT64_C(4) << DSFS_SEGMENT_LOG_MIN } };
static struct member_group section_groups[2] = {
	{ .birth = 1, .tail = 1u << DSFS_SEGMENT_LOG_MIN, .first_column = 0, .kind = DSFS_GROUP_COPIES, .data = 1 },
	{ .birth = 1, .tail = 1u << DSFS_SEGMENT_LOG_MIN, .first_column = 1, .kind = DSFS_GROUP_COPIES, .data = 1 },
};
static uint64_t section_columns[2] = { SECTION_ON(0), SECTION_ON(1) };
static struct member_column section_places[2] = { { SECTION_ON(0), 0, 0 }, { SECTION_ON(1), 1, 0 } };
const struct members section_two = {
	.segment_log = DSFS_SEGMENT_LOG_MIN, .list = section_list, .count = 2, .groups = section_groups,
	.group_count = 2, .columns = section_columns, .column_count = 2, .places = section_places,
};

uint32_t section_sums = DSFS_SUM_XXH3_64;

void section_init(struct section *section)
{
	memset(section, 0, sizeof(*section));
	section->chunk_log = 17;
	section->sums = section_sums;
	section_inode(section, S_IFDIR | 0755, 0, INODE_ROOT);
}

static void section_entry(struct section *section, uint64_t parent, const char *name, uint64_t ordinal, uint8_t type)
{
	struct section_entry *entry = &section->entries[section->entry_count++];

	assert_true(section->entry_count < SECTION_MAX);
	*entry = (struct section_entry){
		.directory = parent, .length = strlen(name), .ordinal = ordinal, .type = type
	};
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	section->inodes[parent - 1].size++;
}

uint64_t section_directory(struct section *section, uint64_t parent, const char *name)
{
	uint64_t ordinal = section_inode(section, S_IFDIR | 0755, 0, parent);

	section_entry(section, parent, name, ordinal, DT_DIR);
	return ordinal;
}

uint64_t section_file(struct section *section, uint64_t parent, const char *name, uint64_t size,
		      uint64_t first_chunk)
{
	uint64_t ordinal = section_inode(section, S_IFREG | 0644, size, first_chunk);

	section_entry(section, parent, name, ordinal, DT_REG);
	return ordinal;
}

static void section_blob(struct section *section, const void *bytes, size_t length)
{
	assert_true(section->blob_length + length <= sizeof(section->blob));
	memcpy(section->blob + section->blob_length, bytes, length);
	section->blob_length += length;
}

void section_place(struct section *section, uint64_t ordinal)
{
	dsfs_le32 element = dsfs_le32_of((uint32_t)ordinal);

	if (!section->places_count++)
		section->places_at = section->blob_length;
	section_blob(section, &element, sizeof(element));
}

uint64_t section_symlink(struct section *section, uint64_t parent, const char *name, const char *target)
{
	uint64_t ordinal = section_inode(section, S_IFLNK | 0777, strlen(target), section->blob_length);

	section_blob(section, target, strlen(target));
	section_entry(section, parent, name, ordinal, DT_LNK);
	return ordinal;
}

void section_hard_link(struct section *section, uint64_t parent, const char *name, uint64_t ordinal)
{
	section_entry(section, parent, name, ordinal, DT_REG);
	section->inodes[ordinal - 1].nlink++;
}

void section_xattr(struct section *section, uint64_t ordinal, const char *name, uint32_t times)
{
	uint32_t length = (uint32_t)(sizeof(struct dsfs_xattr) + strlen(name));
	struct dsfs_xattr_set set = { .count = dsfs_le32_of(times),
				      .length = dsfs_le32_of((uint32_t)sizeof(set) + times * length) };
	struct dsfs_xattr head = { .name_length = dsfs_le32_of((uint32_t)strlen(name)) };

	section->class_table[section->classes[ordinal - 1]].xattrs = dsfs_le64_of(section->blob_length + 1);
	section_blob(section, &set, sizeof(set));
	for (uint32_t i = 0; i < times; i++) {
		section_blob(section, &head, sizeof(head));
		section_blob(section, name, strlen(name));
	}
}

uint64_t section_chunk(struct section *section, uint64_t address, uint64_t sum, uint32_t stored, uint8_t codec)
{
	dsfs_le64 bytes = dsfs_le64_of(sum);

	struct sum with = { .kind = (uint8_t)section->sums };

	memcpy(with.bytes, &bytes, sizeof(bytes));
	return section_chunk_with(section, address, with, stored, codec);
}

uint64_t section_chunk_with(struct section *section, uint64_t address, struct sum sum, uint32_t stored, uint8_t codec)
{
	struct chunk chunk = { .address = address, .sum = sum, .stored = stored, .codec = codec };
	uint64_t number = section->chunk_count++;

	assert_true(number < SECTION_MAX);
	assert_int_equal(sum.kind, section->sums);
	chunk_encode(&chunk, section->chunks + number * index_record_size(sum.kind));
	return number;
}

struct dsfs_chunk *section_record(struct section *section, uint64_t number)
{
	return (struct dsfs_chunk *)(section->chunks + number * index_record_size(section->sums));
}

static void section_mark(struct section *section, struct names_writer *writer, uint64_t first)
{
	uint64_t directory = section->entries[first].directory;

	for (uint64_t n = 1; first + n * DSFS_MARK_EVERY < section->entry_count; n++) {
		struct section_entry *entry = &section->entries[first + n * DSFS_MARK_EVERY];

		if (entry->directory != directory)
			break;
		CHECK_OK(names_writer_mark(writer, directory, (uint32_t)n, span_of(entry->name, entry->length),
					   &err));
	}
}

static uint64_t section_names(struct section *section, int fd)
{
	char path[] = "/tmp/section.XXXXXX";
	struct names_writer *writer;
	uint64_t length, last = 0;
	int temp = mkstemp(path);

	assert_true(temp >= 0);
	CHECK_OK(names_writer_open(temp, &writer, &err));
	close(temp);
	for (uint64_t i = 0; i < section->entry_count; i++) {
		struct section_entry *entry = &section->entries[i];

		if (entry->directory != last)
			section_mark(section, writer, i);
		last = entry->directory;
		CHECK_OK(names_writer_add(writer, entry->directory, span_of(entry->name, entry->length), entry->ordinal,
					  entry->type, &err));
	}
	CHECK_OK(names_writer_finish(writer, fd, &length, &err));
	unlink(path);
	return length;
}

static void section_put(int fd, uint64_t offset, const void *bytes, size_t length)
{
	assert_int_equal(pwrite(fd, bytes, length, (off_t)offset), length);
}

static void section_count(const struct section *section, struct version *version)
{
	for (uint64_t i = 0; i < section->inode_count; i++) {
		uint32_t class = section->classes[i]; /* a test of refusals gives one that there is not */
		uint32_t mode = class < section->class_count ? dsfs_le32_get(section->class_table[class].mode) : 0;

		version->file_count += S_ISREG(mode);
		version->directory_count += S_ISDIR(mode);
		version->symlink_count += S_ISLNK(mode);
		version->content_bytes += S_ISREG(mode) ? section->inodes[i].size : 0;
	}
}

int section_write(struct section *section, struct version *version)
{
	struct dsfs_inode inodes[SECTION_MAX];
	struct index_layout layout;
	int fd = memfd_create("section", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	*version = (struct version){ .label = "test", .sequence = 1, .chunk_log = section->chunk_log };
	version->shape = (struct index_shape){
		.names_length = section_names(section, fd),
		.inode_count = section->inode_count,
		.chunk_count = section->chunk_count,
		.class_count = section->class_count,
		.blob_length = section->blob_length,
		.entry_count = section->entry_count,
		.chunk_sum = section->sums,
		.places_at = section->places_at,
		.places_count = section->places_count,
	};
	section_count(section, version);
	CHECK_OK(index_layout(&version->shape, &layout, &err));
	version->index.length = layout.length;
	assert_int_equal(ftruncate(fd, (off_t)layout.length), 0);
	for (uint64_t i = 0; i < section->inode_count; i++)
		inode_encode(&section->inodes[i], section->classes[i], &inodes[i]);
	section_put(fd, layout.inodes, inodes, section->inode_count * sizeof(*inodes));
	section_put(fd, layout.chunks, section->chunks, section->chunk_count * index_record_size(section->sums));
	section_put(fd, layout.classes, section->class_table, section->class_count * sizeof(*section->class_table));
	section_put(fd, layout.blob, section->blob, section->blob_length);
	return fd;
}
