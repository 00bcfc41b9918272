/* SPDX-License-Identifier: MIT */
/* A header in the machine's byte order, as both processes run on it, and then a catalogue of this one version. */
#include "opened/version_record.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory_file.h"
#include "base/round.h"
#include "base/transfer.h"
#include "image/catalogue/catalogue.h"

#define RECORD_MAGIC "DSFSVREC"
#define RECORD_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
#define RECORD_MOST  (UINT64_C(1) << 34) /* bytes */
#define RECORD_MODES 07777u              /* that may be hidden */

struct record_head {
	char magic[8];
	uint32_t format; /* VERSION_RECORD_FORMAT */
	uint32_t hidden_mode;
	uint32_t member_count; /* length of the array of missing_from, uint64_t each; 0: no table of members */
	uint32_t segment_log;
	uint64_t member_size; /* of member 0, as its UUID, which is zeros without a table */
	uint8_t member_uuid[16];
	uint64_t catalogue_length; /* a multiple of DSFS_BLOCK */
	uint64_t sums_length;      /* of the head of the block checksums; 0: none */
};
static_assert(sizeof(struct record_head) == 64, "no gaps");

/* Offsets of the parts in the file. */
struct record_parts {
	uint64_t missing, catalogue, sums, length;
};

/* Computes the offsets. False: the lengths are impossible. */
static bool record_parts(const struct record_head *head, struct record_parts *ret)
{
	if (head->member_count > DSFS_MEMBER_MAX + 1 || head->catalogue_length > DSFS_CATALOGUE_MAX ||
	    head->catalogue_length % DSFS_BLOCK || head->sums_length > RECORD_MOST / 2)
		return false;
	ret->missing = sizeof(*head);
	ret->catalogue = ret->missing + head->member_count * sizeof(uint64_t);
	ret->sums = ret->catalogue + head->catalogue_length;
	ret->length = ret->sums + head->sums_length;
	return true;
}

/* ---- writing ---- */

/* Without a table nothing here says how large segments are. Any size will do to which all of the version's are aligned:
 * it is at least the real one, and the last segment may end after the volume by less than a segment. */
static uint32_t record_segment_log(const struct version_record *record)
{
	const struct extent_list *segments = &record->version.segments;
	uint64_t bits = UINT64_C(1) << DSFS_SEGMENT_LOG_MAX;

	if (record->members.count)
		return record->members.segment_log;
	for (uint32_t i = 0; i < segments->count; i++)
		bits |= segments->items[i].address;
	return (uint32_t)__builtin_ctzll(bits);
}

static int record_encode_catalogue(const struct version_record *record, uint8_t **ret, uint64_t *ret_length,
				   struct error *err)
{
	struct version version = record->version;
	const struct catalogue catalogue = {
		.next_sequence = version.sequence + 1, .current = version.sequence, .versions = &version,
		.version_count = 1, .members = record->members,
	};

	return catalogue_encode(&catalogue, ret, ret_length, err);
}

static struct record_head record_head(const struct version_record *record, uint64_t catalogue_length)
{
	struct record_head head = {
		.format = VERSION_RECORD_FORMAT,
		.hidden_mode = record->hidden_mode,
		.member_count = record->members.count,
		.segment_log = record_segment_log(record),
		.member_size = record->member_size,
		.catalogue_length = catalogue_length,
	};

	memcpy(head.magic, RECORD_MAGIC, sizeof(head.magic));
	if (record->members.count)
		memcpy(head.member_uuid, record->members.list[0].uuid, sizeof(head.member_uuid));
	if (record->block_sums)
		(void)block_sums_head(record->block_sums, &head.sums_length);
	return head;
}

static void record_fill(const struct version_record *record, const struct record_head *head,
			const struct record_parts *parts, const uint8_t *catalogue, uint8_t *to)
{
	uint64_t from, length;

	memcpy(to, head, sizeof(*head));
	for (uint32_t i = 0; i < head->member_count; i++) {
		from = members_missing_from(&record->members, i);
		memcpy(to + parts->missing + i * sizeof(from), &from, sizeof(from));
	}
	memcpy(to + parts->catalogue, catalogue, head->catalogue_length);
	if (head->sums_length)
		memcpy(to + parts->sums, block_sums_head(record->block_sums, &length), head->sums_length);
}

int version_record_write(const struct version_record *record, int *ret_fd, struct error *err)
{
	auto_close int fd = -1;
	auto_free uint8_t *catalogue = NULL;
	struct record_parts parts;
	struct record_head head;
	uint64_t length = 0;
	uint8_t *to;
	int r = record_encode_catalogue(record, &catalogue, &length, err);

	if (r < 0)
		return r;
	head = record_head(record, length);
	if (!record_parts(&head, &parts))
		return error_set(err, -EFBIG, "the record of version '%s' is too long", record->version.label);
	r = memory_file_make("datasetfs-version", parts.length, &fd, err);
	if (r < 0)
		return error_wrap(err, r, "the record of version '%s'", record->version.label);
	to = mmap(NULL, parts.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED)
		return error_errno(err, "cannot map the record of version '%s'", record->version.label);
	record_fill(record, &head, &parts, catalogue, to);
	munmap(to, parts.length);
	if (fcntl(fd, F_ADD_SEALS, RECORD_SEALS) < 0)
		return error_errno(err, "cannot seal the record of version '%s'", record->version.label);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* ---- reading ---- */

/* The file while it is read. */
struct record_view {
	struct span bytes;
	struct record_head head;
	struct record_parts parts;
};

static int record_check_head(struct span bytes, struct record_view *ret, struct error *err)
{
	const struct record_head *head = span_at(bytes, 0, sizeof(*head));

	if (!head || memcmp(head->magic, RECORD_MAGIC, sizeof(head->magic)) != 0)
		return error_set(err, -EPROTO, "%" PRIu64 " bytes that are no record of a version", bytes.size);
	if (head->format != VERSION_RECORD_FORMAT)
		return error_set(err, -EOPNOTSUPP, "the record of a version has format %" PRIu32
				 ", this release knows %u", head->format, VERSION_RECORD_FORMAT);
	if (!record_parts(head, &ret->parts) || ret->parts.length != bytes.size)
		return error_set(err, -EPROTO, "the record of a version has %" PRIu64 " bytes, its parts need others",
				 bytes.size);
	if (head->hidden_mode & ~RECORD_MODES)
		return error_set(err, -EPROTO, "the record of a version: hidden_mode=%#" PRIo32, head->hidden_mode);
	if (head->segment_log < DSFS_SEGMENT_LOG_MIN || head->segment_log > DSFS_SEGMENT_LOG_MAX)
		return error_set(err, -EPROTO, "the record of a version: segments of 2^%" PRIu32 " bytes",
				 head->segment_log);
	ret->head = *head;
	return 0;
}

/* The catalogue's decoder does not look at the version's features, because an old release lists versions that it cannot
 * open. */
static int record_check_version(const struct catalogue *catalogue, struct error *err)
{
	const struct version *version = catalogue->versions;
	uint64_t unknown;
	int r;

	if (catalogue->version_count != 1)
		return error_set(err, -EPROTO, "the record of a version has %" PRIu32 " versions",
				 catalogue->version_count);
	r = sum_check_kind(version->shape.chunk_sum, version->label, err);
	if (r < 0)
		return r;
	unknown = version->feature_incompat & ~DSFS_VERSION_INCOMPAT_KNOWN;
	return unknown ? error_set(err, -EOPNOTSUPP, "version '%s': incompatible features %#" PRIx64
				   ", a newer release is needed", version->label, unknown) : 0;
}

/* Checks the catalogue as if it were on a volume, with sequence checks disabled because there is no superblock here. */
static int record_read_catalogue(const struct record_view *file, struct catalogue *ret, struct error *err)
{
	const struct record_head *head = &file->head;
	struct superblock super = {
		.sequence = UINT64_MAX, .member_size = head->member_size, .segment_log = head->segment_log,
		.member_count = head->member_count ? head->member_count : 1,
		.feature_incompat = head->member_count ? DSFS_INCOMPAT_MEMBERS : 0,
	};
	int r;

	memcpy(super.member_uuid, head->member_uuid, sizeof(super.member_uuid));
	r = catalogue_decode(file->bytes.base + file->parts.catalogue, head->catalogue_length, &super, ret, err);
	if (r == -EBADMSG)
		return error_wrap(err, -EPROTO, "the record of a version");
	for (uint32_t i = 0; r == 0 && i < ret->members.count; i++)
		memcpy(&ret->members.list[i].missing_from,
		       file->bytes.base + file->parts.missing + i * sizeof(uint64_t), sizeof(uint64_t));
	return r;
}

static int record_read_sums(const struct record_view *file, const struct version *version, struct block_sums **ret,
			    struct error *err)
{
	uint64_t length = file->head.sums_length;
	auto_free uint8_t *bytes = NULL;
	int r;

	*ret = NULL;
	if (!length)
		return 0;
	if (!version->block_sums.length)
		return error_set(err, -EPROTO, "version '%s' has no block checksums, its record has", version->label);
	bytes = aligned_alloc(DSFS_BLOCK, round_up(length, DSFS_BLOCK));
	if (!bytes)
		return error_no_memory(err);
	memcpy(bytes, file->bytes.base + file->parts.sums, length);
	r = block_sums_open(bytes, length, version, ret, err);
	if (r == 0)
		(void)take_ptr(&bytes);
	return r == -EBADMSG ? error_wrap(err, -EPROTO, "version '%s'", version->label) : r;
}

static int record_read_parts(const struct record_view *file, struct catalogue *catalogue, struct version_record *ret,
			     struct error *err)
{
	const struct record_head *head = &file->head;
	int r = record_read_catalogue(file, catalogue, err);

	if (r == 0)
		r = record_check_version(catalogue, err);
	if (r == 0)
		r = record_read_sums(file, catalogue->versions, &ret->block_sums, err);
	if (r < 0)
		return r;
	ret->hidden_mode = head->hidden_mode;
	ret->member_size = head->member_size;
	ret->version = catalogue->versions[0];
	ret->members = catalogue->members;
	version_disown_lists(&catalogue->versions[0]);
	catalogue->members = (struct members){ 0 };
	return 0;
}

int version_record_decode(struct span bytes, struct version_record *ret, struct error *err)
{
	struct catalogue catalogue = { 0 };
	struct record_view file = { .bytes = bytes };
	int r = record_check_head(bytes, &file, err);

	if (r < 0)
		return r;
	r = record_read_parts(&file, &catalogue, ret, err);
	catalogue_free(&catalogue);
	return r;
}

int version_record_read(int fd, struct version_record *ret, struct error *err)
{
	auto_free uint8_t *bytes = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > RECORD_MOST)
		return error_set(err, -EPROTO, "what should be the record of a version is no file, or too long");
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return error_no_memory(err);
	n = transfer_read_at(fd, bytes, (size_t)st.st_size, 0);
	if (n < 0)
		return error_errno(err, "the record of a version");
	return version_record_decode((struct span){ bytes, (uint64_t)n }, ret, err);
}

void version_record_free(struct version_record *record)
{
	block_sums_close(record->block_sums);
	version_free(&record->version);
	members_free(&record->members);
	*record = (struct version_record){ 0 };
}
