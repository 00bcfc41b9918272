/* SPDX-License-Identifier: MIT */
/* datasetfsctl stat: shows one inode, its chunks, and where they lie on the volume. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "image/chunk.h"
#include "image/extent.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "text.h"
#include "verb.h"
#include "volume.h"
#include "walk.h"

#define XATTR_SHOWN 64 /* bytes of a value */

struct stat_options {
	struct verb_options common;
	const char *version;
};

/* The file that the user asked for. */
struct stat_file {
	const char *path; /* as it was given */
	struct volume *volume;
	const struct demands *demands;
	const struct version *version;
	struct index *index;
	struct inode inode;
};

/* A run of bytes on the volume that holds consecutive chunks, or a hole, or bytes in the index. */
struct stat_range {
	uint64_t offset; /* in the file */
	uint64_t length; /* bytes of content */
	uint64_t address;
	uint64_t stored;
};

static const struct option_spec stat_table[] = {
	VERB_OPTIONS_DEMANDS,
	{ "version", 0, "L", OPTION_TEXT(struct stat_options, version, version_check_label),
	  "look in version L instead of the current one" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line stat_line = {
	.program = "datasetfsctl stat",
	.usage = "MNT/FILE | VOLUME FILE",
	.operands = { 1, 2 },
	.summary = "Show a file, its chunks, and where they lie.",
	.options = stat_table,
};

/* --- finding the inode --- */

static int stat_find_by_path(struct stat_file *file, struct error *err)
{
	uint64_t ordinal = 0;
	int r = walk_find(file->index->names, file->path, &ordinal, err);

	return r < 0 ? r : inode_get(file->index, ordinal, &file->inode, err);
}

/* Finds the version of an inode number, which has version and ordinal; the root of a mount is always 1. */
static int stat_version_of_number(struct stat_file *file, uint64_t number, struct error *err)
{
	uint64_t sequence = number >> DSFS_ORDINAL_BITS;

	if (number == INODE_ROOT)
		return volume_version(file->volume, NULL, &file->version, err);
	if (sequence == 0)
		return error_set(err, -EINVAL, "it is a control file of the mount and not on the volume");
	file->version = catalogue_by_sequence(&file->volume->catalogue, sequence);
	if (!file->version)
		return error_set(err, -ENOENT, "its version is no longer on the volume sequence=%" PRIu64,
				 sequence);
	return 0;
}

static int stat_find_mounted(struct stat_file *file, struct error *err)
{
	struct stat st;
	int r;

	if (lstat(file->path, &st) < 0)
		return error_set(err, -errno, "%s", strerror(errno));
	r = stat_version_of_number(file, st.st_ino, err);
	if (r == 0)
		r = demands_load(file->demands, file->volume, file->version, &file->index, err);
	if (r < 0)
		return r;
	return inode_get(file->index, st.st_ino & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1), &file->inode,
			 err);
}

static int stat_find(struct stat_file *file, const char *label, bool by_path, struct error *err)
{
	int r;

	r = volume_load(file->volume, err);
	if (r < 0)
		return r;
	if (!by_path)
		return stat_find_mounted(file, err);
	r = volume_version(file->volume, label, &file->version, err);
	if (r == 0)
		r = demands_load(file->demands, file->volume, file->version, &file->index, err);
	return r < 0 ? r : stat_find_by_path(file, err);
}

static uint64_t stat_number(const struct stat_file *file)
{
	if (file->inode.ordinal == INODE_ROOT)
		return INODE_ROOT;
	return file->version->sequence << DSFS_ORDINAL_BITS | file->inode.ordinal;
}

/* --- chunks and ranges, handed out one after the other --- */

/* A chunk, or all of a long hole. */
struct stat_chunk {
	struct chunk chunk;
	uint64_t i, count;
	uint64_t offset, length; /* in the file */
};

static int stat_each_chunk(const struct stat_file *file, void (*each)(void *argument, const struct stat_chunk *part),
			   void *argument, struct error *err)
{
	uint64_t count = inode_chunk_count(file->index, &file->inode);
	struct stat_chunk part;
	int r;

	for (part.i = 0; part.i < count; part.i += part.count) {
		r = chunk_get_run(file->index, &file->inode, part.i, &part.chunk, &part.count, err);
		if (r < 0)
			return r;
		part.offset = part.i << file->index->chunk_log;
		part.length = chunk_run_bytes(file->index, &file->inode, part.i, part.count);
		each(argument, &part);
	}
	return 0;
}

struct stat_ranges {
	const struct members *members;
	struct stat_range range;
	void (*each)(void *argument, const struct stat_range *range);
	void *argument;
};

/* Returns whether the address is in the segment of the current range: copies of another segment lie elsewhere. */
static bool stat_is_in_segment(const struct stat_ranges *ranges, uint64_t address)
{
	return !ranges->members->count || (ranges->range.address ^ address) >> ranges->members->segment_log == 0;
}

static void stat_add_to_range(void *argument, const struct stat_chunk *part)
{
	const struct chunk *chunk = &part->chunk;
	struct stat_ranges *ranges = argument;
	struct stat_range *range = &ranges->range;
	bool follows = chunk_is_hole(chunk) ?
			       range->address == 0 :
			       range->address && range->address + range->stored == chunk->address &&
				       stat_is_in_segment(ranges, chunk->address);

	if (range->length && !follows) {
		ranges->each(ranges->argument, range);
		range->length = 0;
	}
	if (!range->length)
		*range = (struct stat_range){ part->offset, 0, chunk->address, 0 };
	range->length += part->length;
	range->stored += chunk->stored;
}

static int stat_each_range(const struct stat_file *file,
			   void (*each)(void *argument, const struct stat_range *range), void *argument,
			   struct error *err)
{
	struct stat_ranges ranges = { .members = &file->index->members, .each = each, .argument = argument };
	int r;

	r = stat_each_chunk(file, stat_add_to_range, &ranges, err);
	if (r == 0 && ranges.range.length)
		each(argument, &ranges.range);
	return r;
}

/* Returns the addresses of other copies of the bytes at this address. */
static uint32_t stat_copies(const struct members *members, uint64_t address, uint64_t ret[DSFS_COPIES_MAX])
{
	uint32_t count = 0, kept = 0;

	if (address && address_member(address) != DSFS_IN_INDEX)
		count = members_copies(members, address, ret);
	for (uint32_t i = 0; i < count; i++)
		if (ret[i] != address)
			ret[kept++] = ret[i];
	return kept;
}

static const char *stat_codec(const struct chunk *chunk)
{
	if (chunk_is_hole(chunk))
		return "hole";
	return chunk->codec == DSFS_CODEC_ZSTD ? "zstd" : "raw";
}

/* --- text --- */

static void stat_place(uint64_t address, char *text, size_t size)
{
	if (address == 0)
		snprintf(text, size, "hole");
	else if (address_member(address) == DSFS_IN_INDEX)
		snprintf(text, size, "index:%" PRIu64, address_offset(address));
	else
		snprintf(text, size, "%" PRIu32 ":%" PRIu64, address_member(address),
			 address_offset(address));
}

/* Prints the places of other copies, and ends the line. */
static void stat_text_copies(const struct stat_file *file, uint64_t address)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = stat_copies(&file->index->members, address, copies);
	char place[32];

	for (uint32_t i = 0; i < count; i++) {
		stat_place(copies[i], place, sizeof(place));
		printf("  %s", place);
	}
	putchar('\n');
}

/* Rows go out as the index is walked, in columns of fixed widths: a file may have more than a grid should hold. */
static void stat_text_chunk(void *argument, const struct stat_chunk *part)
{
	const struct chunk *chunk = &part->chunk;
	char place[32], sum[SUM_TEXT_SIZE] = "-";

	stat_place(chunk->address, place, sizeof(place));
	if (!chunk_is_hole(chunk))
		sum_text(&chunk->sum, sum);
	printf("  %8" PRIu64 " %16" PRIu64 " %8" PRIu64 "  %-20s %8" PRIu32 "  %-5s  %s", part->i, part->offset,
	       part->length, place, chunk->stored, stat_codec(chunk), sum);
	stat_text_copies(argument, chunk->address);
}

static void stat_text_range(void *argument, const struct stat_range *range)
{
	char place[32];

	stat_place(range->address, place, sizeof(place));
	printf("  %16" PRIu64 " %12" PRIu64 "  %-20s %12" PRIu64, range->offset, range->length, place, range->stored);
	stat_text_copies(argument, range->address);
}

static int stat_text_xattr(void *argument, struct span name, struct span value)
{
	(void)argument;
	printf("xattr    '");
	text_write(stdout, name.base, name.size);
	printf("' = '");
	text_write(stdout, value.base, value.size < XATTR_SHOWN ? value.size : XATTR_SHOWN);
	printf(value.size > XATTR_SHOWN ? "...' (%" PRIu64 " bytes)\n" : "'\n", value.size);
	return 0;
}

static void stat_text_head(const struct stat_file *file)
{
	const struct inode *inode = &file->inode;
	char size[SIZE_TEXT_SIZE], mtime[TEXT_TIME_SIZE];

	printf("file     '");
	text_write(stdout, file->path, strlen(file->path));
	printf("'\n");
	text_print("version  %s (sequence %" PRIu64 ")\n", file->version->label, file->version->sequence);
	printf("inode    %" PRIu64 " (ordinal %" PRIu64 "), links %" PRIu32 "\n", stat_number(file),
	       inode->ordinal, inode->nlink);
	printf("type     %s, mode %04o, uid %" PRIu32 ", gid %" PRIu32 "\n", text_type(inode->mode),
	       inode->mode & 07777, inode->uid, inode->gid);
	if (S_ISDIR(inode->mode))
		printf("size     %" PRIu64 " entries\n", inode->size);
	else
		printf("size     %" PRIu64 " bytes%s%s%s, %" PRIu64 " blocks of 512\n", inode->size,
		       inode->size < 1024 ? "" : " (",
		       inode->size < 1024 ? "" : format_size(inode->size, size),
		       inode->size < 1024 ? "" : ")", extent_blocks(file->index, inode));
	printf("mtime    %s.%09" PRIu32 " UTC\n", text_time(inode->mtime, mtime), inode->mtime_nsec);
}

static int stat_text_content(struct stat_file *file, struct error *err)
{
	const char *copies = file->index->members.count ? "  COPIES" : "";
	uint64_t count = inode_chunk_count(file->index, &file->inode);
	char size[SIZE_TEXT_SIZE];
	int r;

	printf("chunks   %" PRIu64 " of up to %s\n", count,
	       format_size(UINT64_C(1) << file->index->chunk_log, size));
	if (!count)
		return 0;
	printf("  %8s %16s %8s  %-20s %8s  %-5s  %-*s%s\n", "CHUNK", "OFFSET", "LENGTH", "MEMBER:OFFSET",
	       "STORED", "CODEC", *copies ? 16 : 0, "XXH3-64", copies);
	r = stat_each_chunk(file, stat_text_chunk, file, err);
	if (r < 0)
		return r;
	printf("ranges   consecutive chunks as one\n  %16s %12s  %-20s %12s%s\n", "OFFSET", "LENGTH",
	       "MEMBER:OFFSET", "STORED", copies);
	return stat_each_range(file, stat_text_range, file, err);
}

static int stat_text(struct stat_file *file, struct error *err)
{
	struct span target;
	int r;

	stat_text_head(file);
	r = inode_xattrs(file->index, &file->inode, stat_text_xattr, NULL, err);
	if (r == 0 && S_ISREG(file->inode.mode))
		return stat_text_content(file, err);
	if (r < 0 || !S_ISLNK(file->inode.mode))
		return r;
	r = inode_link_target(file->index, &file->inode, &target, err);
	if (r < 0)
		return r;
	printf("target   '");
	text_write(stdout, target.base, target.size);
	printf("'\n");
	return 0;
}

/* --- JSON --- */

struct stat_json {
	struct json json;
	const struct stat_file *file;
};

static void stat_json_where(struct json *json, uint64_t address)
{
	json_number(json, "member", address_member(address));
	json_number(json, "device_offset", address_offset(address));
}

static void stat_json_copies(struct stat_json *out, uint64_t address)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = stat_copies(&out->file->index->members, address, copies);

	if (!count)
		return;
	json_begin_array(&out->json, "copies");
	for (uint32_t i = 0; i < count; i++) {
		json_begin_object(&out->json, NULL);
		stat_json_where(&out->json, copies[i]);
		json_end_object(&out->json);
	}
	json_end_array(&out->json);
}

static void stat_json_place(struct stat_json *out, uint64_t address)
{
	struct json *json = &out->json;

	json_string(json, "in",
		    address == 0                             ? "hole" :
		    address_member(address) == DSFS_IN_INDEX ? "index" :
							       "volume");
	if (address == 0)
		return;
	if (address_member(address) != DSFS_IN_INDEX)
		stat_json_where(json, address);
	else
		json_number(json, "device_offset", address_offset(address));
	stat_json_copies(out, address);
}

static void stat_json_chunk(void *argument, const struct stat_chunk *part)
{
	const struct chunk *chunk = &part->chunk;
	struct stat_json *out = argument;
	struct json *json = &out->json;
	char sum[SUM_TEXT_SIZE];

	json_begin_object(json, NULL);
	json_number(json, "chunk", part->i);
	json_number(json, "count", part->count);
	json_number(json, "record", chunk->number);
	json_number(json, "length", part->length);
	stat_json_place(out, chunk->address);
	json_number(json, "stored", chunk->stored);
	json_string(json, "codec", stat_codec(chunk));
	if (!chunk_is_hole(chunk))
		json_string(json, "sum", sum_text(&chunk->sum, sum));
	json_end_object(json);
}

static void stat_json_range(void *argument, const struct stat_range *range)
{
	struct stat_json *out = argument;
	struct json *json = &out->json;

	json_begin_object(json, NULL);
	json_number(json, "offset", range->offset);
	json_number(json, "length", range->length);
	stat_json_place(out, range->address);
	json_number(json, "stored", range->stored);
	json_end_object(json);
}

static void stat_json_head(struct json *json, const struct stat_file *file)
{
	const struct inode *inode = &file->inode;
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", inode->mode & 07777);
	json_string(json, "file", file->path);
	json_string(json, "volume", file->volume->path);
	json_string(json, "version", file->version->label);
	json_number(json, "sequence", file->version->sequence);
	json_number(json, "inode", stat_number(file));
	json_number(json, "ordinal", inode->ordinal);
	json_string(json, "type", text_type(inode->mode));
	json_string(json, "mode", mode);
	json_number(json, "uid", inode->uid);
	json_number(json, "gid", inode->gid);
	json_number(json, "nlink", inode->nlink);
	json_number(json, "size", inode->size);
	json_number(json, "blocks", extent_blocks(file->index, inode));
	json_signed(json, "mtime", inode->mtime);
	json_number(json, "mtime_nsec", inode->mtime_nsec);
}

static int stat_json_content(struct stat_json *out, struct error *err)
{
	const struct stat_file *file = out->file;
	struct json *json = &out->json;
	struct span target;
	int r;

	if (S_ISLNK(file->inode.mode)) {
		r = inode_link_target(file->index, &file->inode, &target, err);
		if (r == 0)
			json_bytes(json, "target", target.base, target.size);
		return r;
	}
	if (!S_ISREG(file->inode.mode))
		return 0;
	json_number(json, "chunk_size", UINT64_C(1) << file->index->chunk_log);
	json_begin_array(json, "chunks");
	r = stat_each_chunk(file, stat_json_chunk, out, err);
	json_end_array(json);
	if (r < 0)
		return r;
	json_begin_array(json, "ranges");
	r = stat_each_range(file, stat_json_range, out, err);
	json_end_array(json);
	return r;
}

static int stat_json(const struct stat_file *file, struct error *err)
{
	struct stat_json out = { .json = { .out = stdout }, .file = file };
	int r;

	json_begin_object(&out.json, NULL);
	stat_json_head(&out.json, file);
	json_begin_array(&out.json, "xattrs");
	r = inode_xattrs(file->index, &file->inode, text_json_xattr, &out.json, err);
	json_end_array(&out.json);
	if (r == 0)
		r = stat_json_content(&out, err);
	json_end_object(&out.json);
	putchar('\n');
	return r;
}

int stat_run(int argc, char **argv)
{
	struct stat_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct stat_file file = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&stat_line, argc, argv, &options, &operands, &status))
		return status;
	if (operands == 1 && options.version) {
		log_err("stat: option '--version' needs VOLUME FILE, see 'datasetfsctl stat --help'");
		return VERB_USAGE;
	}
	r = volume_open(argv[1], &volume, &err);
	file.path = argv[operands];
	file.volume = volume;
	file.demands = &options.common.demands;
	if (r == 0 && operands == 1 && !volume->mount)
		r = error_set(&err, -EINVAL,
			      "not on a datasetfs mount; for a file on a volume, give VOLUME FILE");
	if (r == 0)
		r = stat_find(&file, options.version, operands == 2, &err);
	if (r == 0)
		r = options.common.json ? stat_json(&file, &err) : stat_text(&file, &err);
	index_close(file.index);
	if (r < 0) {
		log_error(&err, "cannot stat '%s'", argv[operands]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
