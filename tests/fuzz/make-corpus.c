/* SPDX-License-Identifier: MIT */
/* Writes seeds for the fuzz targets into a folder: valid structures, made by the library's own encoders. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/chunk_table.h"
#include "client/client.h"
#include "csi/wire.h"
#include "datasetfs/control.h"
#include "fuse/wire.h"
#include "fuzz/fuzz.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/catalogue.h"
#include "image/chunk.h"
#include "lib/check.h"
#include "lib/rows.h"
#include "lib/section.h"
#include "lib/signed.h"
#include "opened/version_record.h"
#include "serve/recovery/recovery.h"
#include "source/archive/tar_stream.h"

static struct section section;

static void write_seed(const char *folder, const char *name, const void *head, size_t head_length, const void *bytes,
		       size_t length)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	if (!file || fwrite(head, 1, head_length, file) != head_length || fwrite(bytes, 1, length, file) != length ||
	    fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

static void seed_superblock(const char *folder)
{
	struct superblock super = { .sequence = 9, .member_size = 1u << 24, .member_count = 1, .segment_log = 24,
				    .catalogue_address = DSFS_DATA_AT, .catalogue_length = 4096 };
	struct dsfs_superblock disk;

	superblock_encode(&super, &disk);
	write_seed(folder, "superblock-1", "", 0, &disk, sizeof(disk));
	super.feature_incompat = DSFS_INCOMPAT_MEMBERS;
	super.member_count = 4, super.member = 2, super.member_uuid[0] = 3;
	super.catalogue_address |= UINT64_C(2) << DSFS_ADDRESS_BITS;
	superblock_encode(&super, &disk);
	write_seed(folder, "superblock-2", "", 0, &disk, sizeof(disk));
}

static void seed_catalogue(const char *folder)
{
	struct extent segment = { 0, 1u << 24 }, index = { DSFS_DATA_AT, 16384 };
	struct version version = { .label = "v1", .sequence = 1, .chunk_log = 17,
				   .segments = { &segment, 1 }, .index.extents = { &index, 1 }, .index.length = 16384,
				   .shape = { .names_length = 8192, .inode_count = 1, .class_count = 1,
					      .chunk_sum = DSFS_SUM_XXH3_64 } };
	struct catalogue catalogue = { .next_sequence = 2, .current = 1, .tail = 1u << 21, .versions = &version,
				       .version_count = 1 };
	uint64_t length;
	uint8_t *bytes;

	CHECK_OK(catalogue_encode(&catalogue, &bytes, &length, &err));
	write_seed(folder, "catalogue-1", "", 0, bytes, length);
	free(bytes);
}

/* Three members, of which one is stale, a group of two copies and one of none; as fuzz-catalogue.c has them. */
static void seed_catalogue_of_members(const char *folder)
{
	const uint64_t mib = 1u << 20, places[] = { 2 * mib, UINT64_C(1) << 56 | 3 * mib, UINT64_C(1) << 56 | 5 * mib };
	struct member_group group = { .birth = 9, .tail = 65536, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1 };
	struct member list[3] = { { .uuid = { 1 }, .size = 64 * mib }, { .uuid = { 2 }, .size = 64 * mib },
				  { .uuid = { 3 }, .size = 32 * mib, .state = DSFS_MEMBER_STALE,
				    .stale_sequence = 5 } };
	struct extent segments[] = { { places[0], mib }, { places[2], mib } }, index = { places[0], 16384 },
		      source[] = { { places[2], 4096 }, { places[0] + 16384, 100 } };
	struct version version = { .label = "v1", .sequence = 1, .chunk_log = 17,
				   .segments = { segments, 2 }, .index.extents = { &index, 1 }, .index.length = 16384,
				   .shape = { .names_length = 8192, .inode_count = 1, .class_count = 1,
					      .chunk_sum = DSFS_SUM_XXH3_64 },
				   .source = { .extents = { source, 2 }, .length = 4196 } };
	struct catalogue catalogue = { .next_sequence = 2, .current = 1, .versions = &version, .version_count = 1,
				       .members = { .segment_log = 20, .list = list, .count = 3, .history_count = 2,
						    .history = { { .sequence = 8 }, { .sequence = 6 } } } };
	uint64_t length;
	uint8_t *bytes;

	CHECK_OK(members_add_group(&catalogue.members, &group, places, &err));
	group.redundant = 0;
	CHECK_OK(members_add_group(&catalogue.members, &group, &places[2], &err));
	CHECK_OK(catalogue_encode(&catalogue, &bytes, &length, &err));
	write_seed(folder, "catalogue-2", "", 0, bytes, length);
	free(bytes);
	free(catalogue.members.groups);
	free(catalogue.members.columns);
	free(catalogue.members.places);
}

/* How an input tells the kind of its sums. */
static uint32_t kind_of(const struct version *version)
{
	return version->shape.chunk_sum == DSFS_SUM_SHA256 ? FUZZ_IS_SHA256 : 0;
}

static void seed_section(const char *folder, const char *name)
{
	struct version version;
	int fd = section_write(&section, &version);
	dsfs_le32 head[9] = { dsfs_le32_of((uint32_t)(version.shape.names_length / DSFS_BLOCK)),
			 dsfs_le32_of((uint32_t)version.shape.inode_count),
			 dsfs_le32_of((uint32_t)version.shape.chunk_count),
			 dsfs_le32_of((uint32_t)version.shape.class_count),
			 dsfs_le32_of((uint32_t)version.shape.blob_length),
			 dsfs_le32_of((uint32_t)version.shape.entry_count),
			 dsfs_le32_of(version.chunk_log - DSFS_CHUNK_LOG_MIN + kind_of(&version)),
			 dsfs_le32_of((uint32_t)version.shape.places_at),
			 dsfs_le32_of((uint32_t)version.shape.places_count) };
	void *map = mmap(NULL, version.index.length, PROT_READ, MAP_SHARED, fd, 0);

	assert_true(map != MAP_FAILED);
	write_seed(folder, name, head, sizeof(head), map, version.index.length);
	munmap(map, version.index.length);
	close(fd);
}

static void seed_index(const char *folder)
{
	uint64_t a;
	char name[16];

	section_init(&section);
	seed_section(folder, "index-empty");
	section_chunk(&section, DSFS_DATA_AT, 1, 131072, DSFS_CODEC_RAW);
	section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	section_chunk(&section, DSFS_DATA_AT + 131072, 2, 77, DSFS_CODEC_ZSTD);
	a = section_directory(&section, 1, "a");
	section_file(&section, 1, "b", 2 * 131072 + 1000, 0);
	section.inodes[2].sparse = true;
	section_symlink(&section, 1, "c", "a/f007");
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		section_file(&section, a, name, 0, 0);
	}
	section_hard_link(&section, a, "link", 3);
	section_xattr(&section, a, "user.a", 1);
	section_xattr(&section, 4, "user.name", 1);
	seed_section(folder, "index-tree");
}

/* Chunks, a hole and a list of two, with the longer records. */
static void seed_sha256(const char *folder)
{
	struct sum none = { .kind = DSFS_SUM_SHA256 }, sum = sum_of(DSFS_SUM_SHA256, "content", 7);

	section_sums = DSFS_SUM_SHA256;
	section_init(&section);
	section_chunk_with(&section, DSFS_DATA_AT, sum, 131072, DSFS_CODEC_RAW);
	section_chunk_with(&section, 0, none, 0, DSFS_CODEC_RAW);
	section_chunk_with(&section, DSFS_DATA_AT + 131072, sum, 77, DSFS_CODEC_ZSTD);
	for (int i = 0; i < 3; i++)
		section_chunk_with(&section, 0, none, 0, DSFS_CODEC_RAW);
	section_file(&section, 1, "a", 2 * 131072 + 1000, 0);
	section_file(&section, 1, "b", 3026 * UINT64_C(131072) - 5, 3 | DSFS_WHERE_HOLES);
	for (int i = 0; i < 3; i++) {
		static const struct dsfs_hole list[] = { { .first = { { 2 } } },
							 { .first = { { 1 } }, .total = { { 0, 4 } } },
							 { .first = { { 2, 4 } }, .total = { { 0xd0, 0xb } } } };

		memcpy(section_record(&section, 3 + (uint64_t)i), &list[i], sizeof(list[i]));
	}
	section.inodes[1].sparse = section.inodes[2].sparse = true;
	seed_section(folder, "index-sha256");
	section_sums = DSFS_SUM_XXH3_64;
}

static void seed_places(const char *folder)
{
	char name[16];

	section_init(&section);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		section_file(&section, 1, name, 0, 0);
	}
	for (uint64_t i = 0; i < 40; i++)
		section_place(&section, 2 + i * 7 % 40);
	seed_section(folder, "index-places");
}

/* A chunk, a long hole, a chunk, another hole to the end. */
static void seed_holes(const char *folder)
{
	section_init(&section);
	section_chunk(&section, DSFS_DATA_AT, 1, 131072, DSFS_CODEC_RAW);
	section_chunk(&section, DSFS_DATA_AT + 131072, 2, 77, DSFS_CODEC_ZSTD);
	section_chunk(&section, 0, 2, 0, 0);
	section_chunk(&section, 0, 1, 1024, 0);
	section_chunk(&section, 0, 1026, 3024, 0);
	section_file(&section, 1, "a", 3026 * UINT64_C(131072) - 5, 2 | DSFS_WHERE_HOLES);
	section.inodes[1].sparse = true;
	seed_section(folder, "index-holes");
}

/* Chunks 0, 2, 4 … have rows. */
static void seed_block_sums(const char *folder, const char *name, uint32_t kind, uint32_t chunk_log, uint32_t chunks)
{
	struct version version = { .chunk_log = chunk_log, .shape = { .chunk_count = chunks, .chunk_sum = kind } };
	struct rows_chunk rows[512];
	dsfs_le32 head[3] = { dsfs_le32_of(chunk_log - DSFS_CHUNK_LOG_MIN + kind_of(&version)), dsfs_le32_of(chunks),
			      dsfs_le32_of(0) };
	struct block_sums_layout layout;
	unsigned count = 0;
	uint8_t *bytes;

	for (uint32_t i = 0; i < chunks; i += 2)
		rows[count++] = (struct rows_chunk){ i, name, 4 };
	bytes = rows_section(&version, DSFS_DATA_AT, rows, count);
	block_sums_layout(kind, chunk_log, chunks, count, &layout);
	head[2] = dsfs_le32_of((uint32_t)(layout.length / DSFS_BLOCK));
	write_seed(folder, name, head, sizeof(head), bytes, layout.head);
	version_free(&version);
	free(bytes);
}

static void seed_request(const char *folder, const char *name, uint32_t opcode, const void *body, uint32_t length)
{
	struct fuse_in_header head = { .len = (uint32_t)sizeof(head) + length, .opcode = opcode, .unique = 4,
				       .nodeid = 1, .pid = 100 };

	write_seed(folder, name, &head, sizeof(head), body, length);
}

static void seed_wire(const char *folder)
{
	struct fuse_read_in read = { .offset = 4096, .size = 131072 };
	struct fuse_init_in init = { .major = 7, .minor = 45, .flags = UINT32_MAX };
	struct fuse_getxattr_in getxattr = { .size = 256 };
	struct {
		struct fuse_ioctl_in head;
		struct dsfs_prefetch prefetch;
	} ioctl = { .head = { .cmd = DSFS_IOC_PREFETCH, .in_size = sizeof(ioctl.prefetch),
			      .out_size = sizeof(ioctl.prefetch) },
		    .prefetch = { .count = 2, .files = { 1ull << 40 | 2, 3 } } };
	struct {
		struct fuse_batch_forget_in head;
		struct fuse_forget_one one[3];
	} forget = { .head.count = 3, .one = { { 2, 1 }, { 3, 1 }, { 4, 9 } } };
	uint8_t attribute[sizeof(getxattr) + 10];

	memcpy(attribute, &getxattr, sizeof(getxattr));
	memcpy(attribute + sizeof(getxattr), "user.name", 10);
	seed_request(folder, "wire-init", FUSE_INIT, &init, sizeof(init));
	seed_request(folder, "wire-lookup", FUSE_LOOKUP, "a name", 7);
	seed_request(folder, "wire-read", FUSE_READ, &read, sizeof(read));
	seed_request(folder, "wire-readdirplus", FUSE_READDIRPLUS, &read, sizeof(read));
	seed_request(folder, "wire-forget", FUSE_BATCH_FORGET, &forget, sizeof(forget));
	seed_request(folder, "wire-getxattr", FUSE_GETXATTR, attribute, sizeof(attribute));
	seed_request(folder, "wire-ioctl", FUSE_IOCTL, &ioctl, sizeof(ioctl));
	seed_request(folder, "wire-unlink", FUSE_UNLINK, "a name", 7);
}

static void seed_exposition(const char *folder)
{
	static const char text[] =
		"# HELP datasetfs_reads_total Reads.\n# TYPE datasetfs_reads_total counter\n"
		"datasetfs_reads_total{member=\"0\",name=\"a \\\\ \\\" \\n\"} 7\n"
		"datasetfs_reads_total{member=\"1\"} 8\n"
		"# HELP datasetfs_seconds Times.\n# TYPE datasetfs_seconds histogram\n"
		"datasetfs_seconds_bucket{le=\"0.5\"} 1\ndatasetfs_seconds_bucket{le=\"+Inf\"} 2\n"
		"datasetfs_seconds_sum 1.5\ndatasetfs_seconds_count 2\n"
		"# HELP datasetfs_version_info V.\n# TYPE datasetfs_version_info gauge\ndatasetfs_version_info 1\n";

	write_seed(folder, "exposition-1", "", 0, text, sizeof(text) - 1);
}

static void seed_client(const char *folder)
{
	const struct error why = { -EPERM, "not for you" };
	struct client_opened opened = { .key = 1 };
	struct client_open query = { .sequence = 1 };
	struct client_report report = { .counts = { 1, 2, 3, 4, 5 } };
	struct client_greeting greeting = { 0 };
	struct client_cached cached = { 0 };
	struct client_cache wish;
	struct client_hits hits = { .bits = { 1 } };

	client_begin(&opened.answer.head, CLIENT_OPENED, sizeof(opened));
	write_seed(folder, "client-opened", "", 0, &opened, sizeof(opened));
	client_begin(&query.head, CLIENT_OPEN, sizeof(query));
	write_seed(folder, "client-open", "", 0, &query, sizeof(query));
	client_begin(&report.head, CLIENT_REPORT, sizeof(report));
	write_seed(folder, "client-report", "", 0, &report, sizeof(report));
	client_begin(&greeting.answer.head, CLIENT_GREETING, sizeof(greeting));
	client_refuse(&greeting.answer, &why);
	write_seed(folder, "client-greeting", "", 0, &greeting, sizeof(greeting));
	client_begin(&wish.head, CLIENT_CACHE, sizeof(wish));
	write_seed(folder, "client-cache", "", 0, &wish, sizeof(wish));
	client_begin(&cached.answer.head, CLIENT_CACHED, sizeof(cached));
	write_seed(folder, "client-cached", "", 0, &cached, sizeof(cached));
	client_begin(&hits.head, CLIENT_HITS, sizeof(hits));
	write_seed(folder, "client-hits", "", 0, &hits, sizeof(hits));
}

static void seed_record_of(const char *folder, const char *name, const struct version_record *record)
{
	struct version_record back = { 0 };
	struct stat st;
	int fd = -1;
	void *map;

	CHECK_OK(version_record_write(record, &fd, &err));
	CHECK_OK(version_record_read(fd, &back, &err));
	version_record_free(&back);
	assert_int_equal(fstat(fd, &st), 0);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	write_seed(folder, name, "", 0, map, (size_t)st.st_size);
	munmap(map, (size_t)st.st_size);
	close(fd);
}

/* On one member, and on two with a group of copies. Chunk 1 of 3 has block checksums. */
static void seed_version_record(const char *folder)
{
	const uint64_t mib = 1u << 20, places[] = { 2 * mib, UINT64_C(1) << DSFS_ADDRESS_BITS | 3 * mib };
	const struct member_group group = { .birth = 9, .tail = 1u << 20, .kind = DSFS_GROUP_COPIES, .data = 1,
					    .redundant = 1 };
	struct member list[2] = { { .uuid = { 1 }, .size = 16 * mib },
				  { .uuid = { 2 }, .size = 16 * mib, .missing_from = 9 } };
	struct extent segment = { places[0], mib }, index = { places[0], 20480 };
	const struct rows_chunk rows[] = { { 1, "row", 3 } };
	struct version_record record = {
		.hidden_mode = 06000, .member_size = 16 * mib,
		.version = { .label = "v1", .sequence = 1, .chunk_log = 17,
			     .segments = { &segment, 1 }, .index.extents = { &index, 1 }, .index.length = 20480,
			     .shape = { .names_length = 8192, .inode_count = 1, .chunk_count = 3,
					.class_count = 1, .chunk_sum = DSFS_SUM_XXH3_64 } },
	};
	struct block_sums_layout layout;
	uint8_t *bytes = rows_section(&record.version, places[0] + 65536, rows, 1), *head;

	block_sums_layout(DSFS_SUM_XXH3_64, 17, 3, 1, &layout);
	head = aligned_alloc(DSFS_BLOCK, layout.head);
	assert_non_null(head);
	memcpy(head, bytes, layout.head);
	free(bytes);
	CHECK_OK(block_sums_open(head, layout.head, &record.version, &record.block_sums, &err));
	seed_record_of(folder, "version-record-1", &record);
	record.members = (struct members){ .segment_log = 20, .list = list, .count = 2 };
	CHECK_OK(members_add_group(&record.members, &group, places, &err));
	seed_record_of(folder, "version-record-2", &record);
	block_sums_close(record.block_sums);
	extent_list_free(&record.version.block_sums.extents);
	free(record.members.groups);
	free(record.members.columns);
	free(record.members.places);
}

/* Appends a message to the seed; returns the bytes of it that are used now. */
static size_t add_message(uint8_t *seed, size_t used, enum tar_stream_kind kind, const void *head, size_t head_length,
			  const char *bytes, size_t length)
{
	struct tar_stream_head message = { kind, (uint32_t)(head_length + length) };

	memcpy(seed + used, &message, sizeof(message));
	memcpy(seed + used + sizeof(message), head, head_length);
	memcpy(seed + used + sizeof(message) + head_length, bytes, length);
	return used + sizeof(message) + head_length + length;
}

static size_t add_entry(uint8_t *seed, size_t used, uint32_t mode, const char *path, const char *link, bool is_link,
			uint64_t size, uint32_t archive)
{
	struct tar_stream_entry_head head = { .size = size, .uid = 1, .gid = 2, .mtime = 3, .mtime_nsec = 4,
					      .mode = mode, .path_length = (uint32_t)strlen(path),
					      .link_length = (uint32_t)strlen(link), .is_link = is_link,
					      .archive = archive, .source = archive };
	struct dsfs_xattr xattr = { dsfs_le32_of(6), dsfs_le32_of(1) };
	struct dsfs_xattr_set set = { dsfs_le32_of(1), dsfs_le32_of(sizeof(set) + sizeof(xattr) + 7) };
	char bytes[256];
	size_t length = 0;

	memcpy(bytes, path, head.path_length);
	memcpy(bytes + head.path_length, link, head.link_length);
	length = head.path_length + head.link_length;
	if (size) {
		head.xattrs_length = sizeof(set) + sizeof(xattr) + 7;
		memcpy(bytes + length, &set, sizeof(set));
		memcpy(bytes + length + sizeof(set), &xattr, sizeof(xattr));
		memcpy(bytes + length + sizeof(set) + sizeof(xattr), "user.av", 7);
		length += head.xattrs_length;
	}
	return add_message(seed, used, TAR_STREAM_ENTRY, &head, sizeof(head), bytes, length);
}

/* Changes to a valid record, as fuzz-recovery.c reads them. */
static void seed_record(const char *folder)
{
	static const struct record_patch {
		uint32_t at, value;
	} valid[] = {
		{ offsetof(struct recovery, prepared), 6 },
		{ offsetof(struct recovery, pending_unique), 20 },
		{ offsetof(struct recovery, pending_key), 6 },
		{ offsetof(struct recovery, incarnation), 3 },
		{ offsetof(struct recovery, crashed), 2 },
		{ offsetof(struct recovery, hands[1].unique), 30 },
		{ offsetof(struct recovery, hands[1].nodeid), 77 },
		{ offsetof(struct recovery, members[1].name_now), 2 },
		{ offsetof(struct recovery, members[1].is_lost), 1 },
		{ offsetof(struct recovery, results[0].unique), 20 },
		{ offsetof(struct recovery, crashes[0].count), 1 },
		{ offsetof(struct recovery, crashes[0].nodeid), 77 },
		{ offsetof(struct recovery, crash_used), 1 },
	}, unfinished[] = {
		{ offsetof(struct recovery, current), 6 },
		{ offsetof(struct recovery, served_now), 0 },
		{ offsetof(struct recovery, pointed_now), 1 },
		{ offsetof(struct recovery, result_count), UINT32_MAX },
		{ offsetof(struct recovery, next_key), 7 },
		{ offsetof(struct recovery, versions[2].sequence), 12 },
		{ offsetof(struct recovery, versions[2].key), 3 },
		{ offsetof(struct recovery, member_count), 256 },
		{ offsetof(struct recovery, workers), 2000 },
	};

	write_seed(folder, "recovery-valid", "", 0, valid, sizeof(valid));
	write_seed(folder, "recovery-unfinished", "", 0, unfinished, sizeof(unfinished));
}

static void seed_tar_stream(const char *folder)
{
	uint8_t seed[4096] = { 0 };
	uint64_t offset = 4;
	size_t used = 0;

	used = add_entry(seed, used, S_IFDIR | 0755, "./", "", false, 0, 0);
	used = add_entry(seed, used, S_IFREG | 0644, "b", "a/later", true, 0, 0);
	used = add_entry(seed, used, S_IFREG | 0644, "a/later", "", false, 8, 0);
	used = add_message(seed, used, TAR_STREAM_DATA, &offset, sizeof(offset), "text", 4);
	used = add_message(seed, used, TAR_STREAM_WARNING, "", 0, "look", 4);
	used = add_entry(seed, used, S_IFLNK | 0777, "a/b/c", "../../b", false, 0, 0);
	used = add_entry(seed, used, S_IFREG | 0600, "a/later", "", false, 0, 1);
	used = add_entry(seed, used, S_IFIFO | 0600, "a/b/pipe", "", false, 0, 1);
	used = add_message(seed, used, TAR_STREAM_END, "", 0, "", 0);
	write_seed(folder, "tar-stream-1", "", 0, seed, used);
	write_seed(folder, "tar-stream-folders", "", 0, seed, used + 3); /* the length chooses options */
	used = add_message(seed, 0, TAR_STREAM_FAILED, "", 0, "no", 2);
	write_seed(folder, "tar-stream-2", "", 0, seed, used);
}

/* Appends an entry of a zip without content to seed, and its record to records. */
static void add_zip_entry(uint8_t *seed, size_t *used, uint8_t *records, size_t *records_used)
{
	uint8_t *head = seed + *used, *record = records + *records_used;
	dsfs_le32 at = dsfs_le32_of((uint32_t)*used - 1); /* the first byte is for the fuzz target */

	memcpy(head, "PK\3\4", 4);
	head[26] = 1; /* bytes of the name */
	head[30] = 'a';
	memcpy(record, "PK\1\2", 4);
	record[28] = 1;
	memcpy(record + 42, &at, sizeof(at));
	record[46] = 'a';
	*used += 31;
	*records_used += 47;
}

/* Zips of two entries: at the beginning of a file, above 4 GiB, behind a program. */
static void seed_tar_zip(const char *folder)
{
	for (uint8_t flags = 0; flags < 3; flags++) {
		uint8_t seed[512] = { flags }, records[128] = { 0 };
		size_t used = 1, length = 0;
		char name[] = "tar-zip-0";
		dsfs_le32 number;

		add_zip_entry(seed, &used, records, &length);
		add_zip_entry(seed, &used, records, &length);
		memcpy(seed + used, records, length);
		number = dsfs_le32_of((uint32_t)used - 1);
		used += length;
		memcpy(seed + used, "PK\5\6", 4);
		seed[used + 8] = seed[used + 10] = 2;
		seed[used + 12] = (uint8_t)length;
		memcpy(seed + used + 16, &number, sizeof(number));
		name[sizeof(name) - 2] = (char)('0' + flags);
		write_seed(folder, name, "", 0, seed, used + 22);
	}
}

/* A global header of PAX, an entry's own, and the entry. */
static void seed_tar_global(const char *folder)
{
	static const char global[] = "12 uid=4321\n9 gid=99\n18 mtime=86400.25\n", own[] = "9 uid=77\n";
	uint8_t seed[5 * 512] = { 0 };

	seed[156] = 'g';
	snprintf((char *)seed + 124, 12, "%011o", (unsigned)strlen(global));
	memcpy(seed + 512, global, strlen(global));
	seed[1024 + 156] = 'x';
	snprintf((char *)seed + 1024 + 124, 12, "%011o", (unsigned)strlen(own));
	memcpy(seed + 1536, own, strlen(own));
	seed[2048 + 156] = '0';
	write_seed(folder, "tar-global-1", "", 0, seed, sizeof(seed));
}

static void put_pair(struct wire_message *message, uint32_t number, const char *key, const char *value)
{
	auto_wire struct wire_message pair = { 0 };

	wire_put_text(&pair, 1, key);
	wire_put_text(&pair, 2, value);
	wire_put_message(message, number, &pair);
}

/* A NodePublishVolumeRequest, as the kubelet sends it. */
static void seed_csi(const char *folder)
{
	auto_wire struct wire_message message = { 0 }, capability = { 0 }, mount = { 0 };

	wire_put_text(&mount, 2, "ro");
	wire_put_message(&capability, 2, &mount);
	wire_put_text(&message, 1, "csi-0123");
	wire_put_text(&message, 4, "/var/lib/kubelet/pods/a/volumes/kubernetes.io~csi/data/mount");
	wire_put_message(&message, 5, &capability);
	wire_put_number(&message, 6, 1);
	put_pair(&message, 8, "csi.storage.k8s.io/ephemeral", "true");
	put_pair(&message, 8, "dataset", "train");
	put_pair(&message, 8, "version", "v2");
	write_seed(folder, "csi-publish", "", 1, message.bytes, message.length);
	wire_free(&message);
	wire_put_text(&message, 1, "csi-0123");
	wire_put_text(&message, 2, "/var/lib/kubelet/pods/a/volumes/kubernetes.io~csi/data/mount");
	write_seed(folder, "csi-target", "\1", 1, message.bytes, message.length);
	wire_free(&message);
	wire_put_number(&message, 1, 0);
	wire_put_text(&message, 2, "no API server");
	write_seed(folder, "csi-status", "\2", 1, message.bytes, message.length);
}

static void seed_trust(const char *folder)
{
	static const char signers[] = "someone namespaces=\"datasetfs\",valid-before=\"20270101\" "
				      "ssh-ed25519 " SIGNED_KEY " her key\n";

	write_seed(folder, "trust-signatures", "", 1, signed_text, sizeof(signed_text) - 1);
	write_seed(folder, "trust-signatures-p256", "", 1, signed_p256, sizeof(signed_p256) - 1);
	write_seed(folder, "trust-signatures-sk", "", 1, signed_sk, sizeof(signed_sk) - 1);
	write_seed(folder, "trust-signers", "\1", 1, signers, sizeof(signers) - 1);
	write_seed(folder, "trust-revoked", "\2", 1, signed_revoked, sizeof(signed_revoked) - 1);
	write_seed(folder, "trust-revoked-text", "\2", 1, signers, sizeof(signers) - 1);
}

/* Words of the chunks that fuzz-chunk-table.c looks for, slots of all kinds, and the same with nothing in it. */
static void seed_chunk_table(const char *folder)
{
	static const struct chunk_table_shape shape = { .buckets = 8, .slots = 9 };
	struct chunk_table table;
	uint32_t slot;

	CHECK_OK(chunk_table_new(&shape, (const uint8_t *)"volume of a test", &table, &err));
	write_seed(folder, "chunk-table-empty", "", 0, table.memory, table.size);
	for (uint32_t i = 0; i < 40; i++) {
		const struct chunk chunk = { .address = (1u << 20) + i * 5000, .stored = 4000 };

		assert_true(chunk_map_put(&table.map, chunk_map_key(&chunk), i * 200));
	}
	for (uint32_t i = 0; i < 6; i++)
		assert_true(slots_take(&table.slots, 19990 * SLOTS_DAY + i * SLOTS_DAY * 2, &slot));
	chunk_table_note(&table);
	write_seed(folder, "chunk-table-some", "", 0, table.memory, table.size);
	chunk_table_close(&table);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	seed_superblock(argv[1]);
	seed_catalogue(argv[1]);
	seed_catalogue_of_members(argv[1]);
	seed_csi(argv[1]);
	seed_trust(argv[1]);
	seed_index(argv[1]);
	seed_exposition(argv[1]);
	seed_holes(argv[1]);
	seed_places(argv[1]);
	seed_sha256(argv[1]);
	seed_block_sums(argv[1], "block-sums-small", DSFS_SUM_XXH3_64, 20, 3);
	seed_block_sums(argv[1], "block-sums-many", DSFS_SUM_XXH3_64, 17, 1000);
	seed_block_sums(argv[1], "block-sums-sha256", DSFS_SUM_SHA256, 17, 1000);
	seed_wire(argv[1]);
	seed_client(argv[1]);
	seed_chunk_table(argv[1]);
	seed_record(argv[1]);
	seed_version_record(argv[1]);
	seed_tar_stream(argv[1]);
	seed_tar_zip(argv[1]);
	seed_tar_global(argv[1]);
	return 0;
}
