/* SPDX-License-Identifier: MIT */
/* Decodes archives one after the other, even several in one file, and nested archives where they occur. */
#include "source/archive/tar_decode.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/transfer.h"
#include "datasetfs/format.h"
#include "image/xattr.h"
#include "source/archive/tar_charset.h"
#include "source/archive/tar_frames.h"
#include "source/archive/tar_global.h"
#include "source/archive/tar_input.h"
#include "source/archive/tar_name.h"
#include "source/archive/tar_stream.h"
#include "source/archive/tar_unpack.h"
#include "source/archive/tar_zip.h"

#define TAR_DECODE_BUFFER (256u << 10) /* bytes of output */
#define TAR_DECODE_DEPTH  8u                 /* levels of nested archives */
#define TAR_DECODE_GROWTH 1000u              /* most bytes that a byte of an archive may become */
#define TAR_DECODE_FREE   (UINT64_C(256) << 20) /* below this it may grow as it likes */
#define TAR_DECODE_XATTRS 4096u
#define TAR_DECODE_MARK   1024u              /* bytes of zeros that end a tar archive */
#define TAR_DECODE_OVERLAP "has entries that overlap, or fewer than its directory says"
#define TAR_DECODE_PART    "looks like one of several parts: join them in their order, as in " \
			   "'cat PARTS | mkdatasetfs VOLUME -'"
#define TAR_DECODE_VOLUME  "is one of several volumes of 'tar -M': unpack them, as with 'tar -xM -f FIRST -f SECOND'," \
			   " and pack the directory"

struct tar_decode {
	const struct tar_decode_setup *setup;
	const char *name; /* of the archive on the command line */
	struct tar_frames frames; /* if it is fetched */
	uint64_t taken;   /* bytes of it so far */
	uint64_t grown;   /* bytes that these became, nested archives included */
	uint32_t source;  /* its place on the command line */
	uint32_t archives; /* that had an entry so far */
	uint8_t *out;     /* TAR_DECODE_BUFFER, waiting to be written */
	size_t out_used;
	uint8_t *xattrs;  /* DSFS_XATTRS_MAX */
};

/* State of an archive, which is on the command line or inside another one. */
struct tar_decode_level {
	struct tar_decode *decode;
	struct archive *archive;
	struct tar_decode_level *outer; /* NULL: reads fd */
	int fd;                         /* -1: reads decode->frames */
	uint8_t head[TAR_ZIP_LOOK]; /* the first bytes of fd, from head_at to head_used not taken yet */
	size_t head_at, head_used;
	struct tar_zip zip; /* no buffer: it is no zip */
	const char *prefix; /* folder that its contents go to: "" or "a/b/" */
	unsigned depth;
	struct tar_unpack *unpack;
	struct tar_input input; /* what unpack gives */
	struct tar_global global;
	uint64_t start;         /* of the archive in it */
	uint64_t count;         /* archives before it */
	uint64_t mark;          /* bytes of the mark that ends the last of them, at most TAR_DECODE_MARK */
	uint64_t entries;       /* so far */
	uint32_t number;        /* of the archive, */
	bool is_numbered;       /* if it has entries */
	uint64_t reached;       /* in a zip: end of the previous entry's content */
};

static locale_t tar_decode_locale; /* a locale that leaves names of zip archives as bytes; 0: there is none */
static struct tar_charset tar_decode_charset;

static int tar_decode_level(struct tar_decode_level *level, struct error *err);

void tar_decode_prepare(const char *zip_charset)
{
	tar_charset_open(&tar_decode_charset, zip_charset);
	setenv("TZ", "UTC0", 1);
	tzset();
	tar_decode_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* --- output --- */

/* Writes to the packer; fails only if that is gone. */
static int tar_decode_write(int fd, const void *bytes, size_t length, struct error *err)
{
	return transfer_write(fd, bytes, length) < 0 ? error_errno(err, "cannot write to the packer") : 0;
}

static int tar_decode_flush(struct tar_decode *decode, struct error *err)
{
	size_t used = decode->out_used;

	decode->out_used = 0;
	return tar_decode_write(decode->setup->out, decode->out, used, err);
}

static int tar_decode_put(struct tar_decode *decode, const void *bytes, size_t length, struct error *err)
{
	int r;

	if (length > TAR_DECODE_BUFFER / 4 || length > TAR_DECODE_BUFFER - decode->out_used) {
		r = tar_decode_flush(decode, err);
		if (r < 0)
			return r;
	}
	if (length > TAR_DECODE_BUFFER / 4)
		return tar_decode_write(decode->setup->out, bytes, length, err);
	if (length)
		memcpy(decode->out + decode->out_used, bytes, length);
	decode->out_used += length;
	return 0;
}

static int tar_decode_head(struct tar_decode *decode, enum tar_stream_kind kind, size_t length, struct error *err)
{
	struct tar_stream_head head = { kind, (uint32_t)length };

	return tar_decode_put(decode, &head, sizeof(head), err);
}

static int tar_decode_text(struct tar_decode *decode, enum tar_stream_kind kind, const char *text, struct error *err)
{
	size_t length = strnlen(text, TAR_STREAM_TEXT);
	int r = tar_decode_head(decode, kind, length, err);

	return r < 0 ? r : tar_decode_put(decode, text, length, err);
}

/* --- input --- */

static const char *tar_decode_reason(struct archive *archive)
{
	const char *text = archive_error_string(archive);

	if (text && (!strcmp(text, "Truncated tar archive") || !strncmp(text, "Truncated ZIP ", 14)))
		return TAR_UNPACK_CUT;
	return text ? text : "no reason was given";
}

static int64_t tar_decode_read(int fd, void *to, size_t room, const char **reason)
{
	ssize_t n;

	do
		n = read(fd, to, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		*reason = strerror(errno);
	return n;
}

/* Reads raw bytes of the archive, from its file or from the archive around it. */
static int64_t tar_decode_take(void *argument, void *to, size_t room, const char **reason)
{
	struct tar_decode_level *level = argument;
	int64_t n;

	if (level->outer) {
		n = archive_read_data(level->outer->archive, to, room);
		if (n < 0)
			*reason = tar_decode_reason(level->outer->archive);
		return n;
	}
	if (level->head_at < level->head_used) {
		n = (int64_t)(level->head_used - level->head_at);
		memcpy(to, level->head + level->head_at, (size_t)n);
		level->head_at = level->head_used;
		return n;
	}
	n = level->fd < 0 ? tar_frames_read(&level->decode->frames, to, room, reason) :
			    tar_decode_read(level->fd, to, room, reason);
	level->decode->taken += n > 0 ? (uint64_t)n : 0;
	return n;
}

/* Counts decompressed bytes, and refuses a compression bomb. */
static int tar_decode_grow(struct tar_decode *decode, uint64_t length, const char **reason)
{
	decode->grown += length;
	if (decode->grown < TAR_DECODE_FREE || decode->grown / TAR_DECODE_GROWTH < decode->taken)
		return 0;
	*reason = "grows to more than 1000 times its size, as a compression bomb does: if it is none, decompress it "
		  "first, as in 'zcat ARCHIVE | mkdatasetfs VOLUME -', or unpack it and pack the directory";
	return -1;
}

/* Reads the next bytes of the decompressed tar. */
static int64_t tar_decode_next(void *argument, void *to, size_t room, const char **reason)
{
	struct tar_decode_level *level = argument;
	int64_t n = tar_unpack_read(level->unpack, to, room, reason);

	return n < 0 ? n : tar_decode_grow(level->decode, (uint64_t)n, reason) < 0 ? -1 : n;
}

/* Returns whether the next archive on the command line is the next volume of this one, which begins with the rest of a
 * file, as GNU tar writes it. */
static bool tar_decode_has_volume(const struct tar_decode_level *level)
{
	const struct tar_decode_setup *setup = level->decode->setup;
	uint32_t next = level->decode->source + 1;
	uint8_t blocks[1024];

	if (next >= setup->count || !tar_zip_file_size(setup->fds[next]) ||
	    transfer_read(setup->fds[next], blocks, sizeof(blocks)) != sizeof(blocks))
		return false;
	return tar_zip_is_tar(blocks, sizeof(blocks)) &&
	       (blocks[156] == 'M' || (blocks[156] == 'g' && memmem(blocks + 512, 512, "GNU.volume.", 11)));
}

/* Returns a better reason for an archive on the command line that is cut off, or no archive. */
static const char *tar_decode_explain(const struct tar_decode_level *level, const char *reason)
{
	bool is_cut = !strcmp(reason, TAR_UNPACK_CUT);

	if (level->outer || (!is_cut && strcmp(reason, TAR_UNPACK_UNKNOWN) != 0))
		return reason;
	if (tar_name_is_zip_part(level->decode->name))
		return TAR_ZIP_PARTS;
	if (tar_name_is_part(level->decode->name))
		return TAR_DECODE_PART;
	if (is_cut && tar_decode_has_volume(level))
		return TAR_DECODE_VOLUME;
	return is_cut ? TAR_UNPACK_CUT " If it is the first of several parts: 'cat PARTS | mkdatasetfs VOLUME -' "
				       "joins them, except those of 'tar -M'" : reason;
}

static int tar_decode_failed(struct tar_decode_level *level, const char *reason, struct error *err)
{
	const char *prefix = level->prefix;

	if (!*prefix)
		return error_set(err, -EBADMSG, "'%s': %s", level->decode->name, tar_decode_explain(level, reason));
	return error_set(err, -EBADMSG, "'%s': in the archive that becomes the folder '%.200s': %s",
			 level->decode->name, prefix, reason);
}

/* Sets the error for data that is no archive, where an archive must begin. */
static int tar_decode_unknown(struct tar_decode_level *level, struct error *err)
{
	bool is_stdin = !strcmp(level->decode->name, "-");
	char reason[128];

	if (!level->outer && !level->decode->taken)
		return error_set(err, -EBADMSG, is_stdin ? "standard input is empty" : "'%s' is empty",
				 level->decode->name);
	if (level->input.reason)
		return tar_decode_failed(level, level->input.reason, err);
	if (!level->count)
		return tar_decode_failed(level, TAR_UNPACK_UNKNOWN, err);
	snprintf(reason, sizeof(reason), "what follows the archive, at byte %llu of the decompressed data, is no tar "
		 "archive", (unsigned long long)level->start);
	return tar_decode_failed(level, reason, err);
}

/* Makes libarchive's object, and has support() prepare it for one format. */
static int tar_decode_new(struct tar_decode_level *level, int (*support)(struct archive *archive), struct error *err)
{
	level->archive = archive_read_new();
	if (!level->archive)
		return error_no_memory(err);
	if (support(level->archive) != ARCHIVE_OK)
		return tar_decode_failed(level, "libarchive cannot read what it needs to", err);
	return 0;
}

static int tar_decode_open(struct tar_decode_level *level, struct error *err)
{
	int r = tar_decode_new(level, archive_read_support_format_tar, err);

	if (r < 0)
		return r;
	level->start = tar_input_taken(&level->input);
	level->global = (struct tar_global){ 0 };
	if (archive_read_open(level->archive, &level->input, NULL, tar_input_hand, NULL) == ARCHIVE_OK)
		return 0;
	if (strcmp(tar_decode_reason(level->archive), "Unrecognized archive format") != 0)
		return tar_decode_failed(level, tar_decode_reason(level->archive), err);
	return tar_decode_unknown(level, err);
}

/* Reads the padding after an archive: returns 1 if something else follows, 0 at the end. Reading to the end checks the
 * sums after compressed data, and a program that writes to our pipe gets no SIGPIPE. */
static int tar_decode_follows(struct tar_decode_level *level, struct error *err)
{
	int64_t zeros;

	while ((zeros = tar_input_zeros(&level->input)) > 0)
		level->input.at += (size_t)zeros;
	if (zeros < 0)
		return tar_decode_failed(level, level->input.reason, err);
	return level->input.at < level->input.used;
}

/* --- attributes --- */

struct tar_decode_xattr {
	const char *name;
	const void *value;
	size_t length;
	size_t position; /* the last attribute of a name wins */
};

static int tar_decode_compare(const void *a, const void *b)
{
	const struct tar_decode_xattr *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->position < y->position ? -1 : 1;
}

/* Decodes %3D and %25 in names, which GNU tar writes for = and %. The name belongs to libarchive, and only shrinks. */
static void tar_decode_percent(char *name)
{
	char *to = name;

	for (; *name; *to++ = *name++)
		if (!strncmp(name, "%3D", 3) || !strncmp(name, "%25", 3)) {
			name += 2;
			*name = *name == 'D' ? '=' : '%';
		}
	*to = 0;
}

static size_t tar_decode_list_xattrs(struct archive_entry *entry, const struct xattrs_wanted *wanted,
				     struct tar_decode_xattr *list)
{
	struct tar_decode_xattr xattr = { 0 };
	size_t count = 0;

	archive_entry_xattr_reset(entry);
	while (count < TAR_DECODE_XATTRS &&
	       archive_entry_xattr_next(entry, &xattr.name, &xattr.value, &xattr.length) == ARCHIVE_OK) {
		xattr.position = count;
		if (!xattr.name)
			continue;
		tar_decode_percent((char *)xattr.name);
		if (!strncmp(xattr.name, XATTR_PREFIX, strlen(XATTR_PREFIX)) && xattrs_wants(wanted, xattr.name))
			list[count++] = xattr;
	}
	qsort(list, count, sizeof(*list), tar_decode_compare);
	return count;
}

/* Encodes the attributes as a volume stores them; *ret_length is 0 if there are none. Symbolic links have none on
 * Linux. */
static int tar_decode_xattrs(struct tar_decode *decode, struct archive_entry *entry, const char *path,
			     uint32_t *ret_length, struct error *err)
{
	struct xattr_set set = xattr_set_begin(decode->xattrs);
	auto_free struct tar_decode_xattr *list = NULL;
	size_t count;

	*ret_length = 0;
	if (archive_entry_filetype(entry) == AE_IFLNK || archive_entry_hardlink(entry) ||
	    !archive_entry_xattr_count(entry))
		return 0;
	list = calloc(TAR_DECODE_XATTRS, sizeof(*list));
	if (!list)
		return error_no_memory(err);
	count = tar_decode_list_xattrs(entry, decode->setup->xattrs, list);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && !strcmp(list[i].name, list[i + 1].name))
			continue;
		if (!xattr_set_add(&set, span_text(list[i].name), span_of(list[i].value, list[i].length)))
			return error_set(err, -E2BIG, "'%s': the user attributes of '%.200s' take more than %u bytes"
					 XATTRS_HINT, decode->name, path, DSFS_XATTRS_MAX);
	}
	*ret_length = xattr_set_end(&set);
	return 0;
}

/* --- entries --- */

/* A path in a nested archive: the folder that the archive becomes, and the path in that. */
struct tar_decode_path {
	const char *prefix, *rest;
};

static size_t tar_decode_path_length(const struct tar_decode_path *path)
{
	return strlen(path->prefix) + strlen(path->rest);
}

static int tar_decode_put_path(struct tar_decode *decode, const struct tar_decode_path *path, struct error *err)
{
	int r = tar_decode_put(decode, path->prefix, strlen(path->prefix), err);

	return r < 0 ? r : tar_decode_put(decode, path->rest, strlen(path->rest), err);
}

static int tar_decode_send(struct tar_decode *decode, const struct tar_stream_entry_head *head,
			   const struct tar_decode_path *path, const struct tar_decode_path *link, struct error *err)
{
	size_t length = sizeof(*head) + head->path_length + head->link_length + head->xattrs_length;
	int r = tar_decode_head(decode, TAR_STREAM_ENTRY, length, err);

	if (r == 0)
		r = tar_decode_put(decode, head, sizeof(*head), err);
	if (r == 0)
		r = tar_decode_put_path(decode, path, err);
	if (r == 0)
		r = tar_decode_put_path(decode, link, err);
	return r < 0 ? r : tar_decode_put(decode, decode->xattrs, head->xattrs_length, err);
}

/* Corrects times before 1970 in PAX headers: libarchive negates the seconds but not the fraction. In the last second
 * before 1970 the sign is lost. */
static void tar_decode_time(struct archive_entry *entry, struct tar_stream_entry_head *head)
{
	int64_t seconds = archive_entry_mtime(entry);
	uint32_t nanoseconds = (uint32_t)archive_entry_mtime_nsec(entry);
	bool back = seconds < 0 && nanoseconds > 0;

	head->mtime = seconds - back;
	head->mtime_nsec = back ? 1000000000 - nanoseconds : nanoseconds;
}

static int tar_decode_entry(struct tar_decode_level *level, struct archive_entry *entry, struct error *err)
{
	struct tar_decode *decode = level->decode;
	const char *path = archive_entry_pathname(entry), *hard = archive_entry_hardlink(entry);
	bool is_symlink = !hard && archive_entry_filetype(entry) == AE_IFLNK;
	const char *target = hard ? hard : is_symlink ? archive_entry_symlink(entry) : "";
	const struct tar_decode_path full = { level->prefix, path }, link = { hard ? level->prefix : "", target };
	struct tar_stream_entry_head head = {
		.size = (uint64_t)archive_entry_size(entry),
		.uid = (uint64_t)archive_entry_uid(entry),
		.gid = (uint64_t)archive_entry_gid(entry),
		.mode = (hard ? AE_IFREG : archive_entry_filetype(entry)) | archive_entry_perm(entry),
		.is_link = hard != NULL,
		.archive = level->number,
		.source = decode->source,
	};
	int r;

	if (!path || !target)
		return tar_decode_failed(level, "an entry without a name", err);
	if (level->zip.buffer && !archive_entry_perm(entry)) /* the zip has no modes: as libarchive does for DOS */
		head.mode |= archive_entry_filetype(entry) == AE_IFDIR ? 0775 : 0664;
	if (tar_decode_path_length(&full) > TAR_STREAM_PATH || tar_decode_path_length(&link) > TAR_STREAM_PATH)
		return tar_decode_failed(level, "a path of more than 65535 bytes", err);
	head.path_length = (uint32_t)tar_decode_path_length(&full);
	head.link_length = (uint32_t)tar_decode_path_length(&link);
	tar_decode_time(entry, &head);
	r = tar_decode_xattrs(decode, entry, path, &head.xattrs_length, err);
	return r < 0 ? r : tar_decode_send(decode, &head, &full, &link, err);
}

static int tar_decode_block(struct tar_decode *decode, const uint8_t *bytes, size_t length, uint64_t offset,
			    struct error *err)
{
	size_t step;
	int r = 0;

	if (decode->setup->no_data)
		return 0;
	for (; r == 0 && length; bytes += step, length -= step, offset += step) {
		step = length < TAR_STREAM_BLOCK ? length : TAR_STREAM_BLOCK;
		r = tar_decode_head(decode, TAR_STREAM_DATA, sizeof(offset) + step, err);
		if (r == 0)
			r = tar_decode_put(decode, &offset, sizeof(offset), err);
		if (r == 0)
			r = tar_decode_put(decode, bytes, step, err);
	}
	return r;
}

/* Checks that the content of a zip does not grow more than that of a tar may. */
static int tar_decode_check_zip(struct tar_decode_level *level, uint64_t length, struct error *err)
{
	const char *reason;

	if (!level->zip.buffer || tar_decode_grow(level->decode, length, &reason) == 0)
		return 0;
	return tar_decode_failed(level, reason, err);
}

/* Returns how far libarchive has read the archive; the parts of a zip lie one behind the other. */
static uint64_t tar_decode_position(const struct tar_decode_level *level)
{
	return level->zip.shift + (uint64_t)archive_filter_bytes(level->archive, 0);
}

/* Refuses a zip whose entries overlap. libarchive returns entries in the order in which they lie in the file, and has
 * just read this entry's head. */
static int tar_decode_check_order(struct tar_decode_level *level, struct error *err)
{
	if (!level->zip.buffer || tar_decode_position(level) >= level->reached + TAR_ZIP_HEAD)
		return 0;
	return tar_decode_failed(level, TAR_DECODE_OVERLAP, err);
}

/* Refuses what libarchive cannot decode. */
static int tar_decode_refuse(struct tar_decode_level *level, const char *path, const char *what, struct error *err)
{
	char reason[300];

	snprintf(reason, sizeof(reason), "'%.150s' in it %s: unpack it, as with 7z, and pack the directory",
		 path ? path : "", what);
	return tar_decode_failed(level, reason, err);
}

/* Sets the error for content that libarchive does not give. */
static int tar_decode_no_data(struct tar_decode_level *level, const char *path, struct error *err)
{
	static const char method[] = "Unsupported ZIP compression method ";
	const char *reason = tar_decode_reason(level->archive);
	char what[80];

	if (strncmp(reason, method, strlen(method)) != 0)
		return tar_decode_failed(level, reason, err);
	snprintf(what, sizeof(what), "has an unknown compression %s", reason + strlen(method));
	return tar_decode_refuse(level, path, what, err);
}

static int tar_decode_data(struct tar_decode_level *level, const char *path, uint64_t size, struct error *err)
{
	uint64_t total = 0;
	const void *bytes;
	la_int64_t offset;
	size_t length;
	int r, code;

	while ((code = archive_read_data_block(level->archive, &bytes, &length, &offset)) == ARCHIVE_OK) {
		total += length;
		r = tar_decode_check_zip(level, length, err);
		if (r == 0)
			r = tar_decode_block(level->decode, bytes, length, (uint64_t)offset, err);
		if (r < 0)
			return r;
	}
	if (code != ARCHIVE_EOF)
		return tar_decode_no_data(level, path, err);
	if (level->zip.is_wrapped && total != size)
		return tar_decode_refuse(level, path, "has 4 GiB or more, but the archive is no zip64", err);
	if (level->zip.buffer && total != size)
		return tar_decode_failed(level, "has a file whose content is not as long as its directory says", err);
	return 0;
}

/* --- archives inside archives --- */

/* Decodes a nested archive into a folder, which exists even if the archive is empty, and which does not inherit the
 * attributes of the archive file. */
static int tar_decode_nested(struct tar_decode_level *outer, const char *path, size_t length, struct error *err)
{
	size_t before = strlen(outer->prefix);
	auto_free char *prefix = calloc(1, before + length + 2);
	struct tar_decode_level level = { .decode = outer->decode, .outer = outer, .fd = -1, .prefix = prefix,
					  .depth = outer->depth + 1 };
	struct tar_stream_entry_head head = { .mode = S_IFDIR, .is_implied = 1, .archive = outer->number,
					      .source = outer->decode->source };
	const struct tar_decode_path folder = { prefix, "" }, none = { "", "" };
	int r;

	if (!prefix)
		return error_no_memory(err);
	memcpy(prefix, outer->prefix, before);
	memcpy(prefix + before, path, length);
	prefix[before + length] = '/';
	if (level.depth > TAR_DECODE_DEPTH)
		return tar_decode_failed(&level, "more than 8 archives inside each other", err);
	if (before + length + 1 > TAR_STREAM_PATH)
		return tar_decode_failed(outer, "a path of more than 65535 bytes", err);
	head.path_length = (uint32_t)(before + length + 1);
	r = tar_decode_send(outer->decode, &head, &folder, &none, err);
	return r < 0 ? r : tar_decode_level(&level, err);
}

static int tar_decode_warn(struct tar_decode_level *level, const char *reason, struct error *err)
{
	struct error line = { 0 };

	tar_decode_failed(level, reason, &line);
	return tar_decode_text(level->decode, TAR_STREAM_WARNING, line.reason, err);
}

/* Passes a warning of libarchive on, unless it is about names that are not UTF-8, which we use as they are. */
static int tar_decode_warning(struct tar_decode_level *level, struct error *err)
{
	const char *reason = tar_decode_reason(level->archive);

	if (strstr(reason, "can't be converted") || strstr(reason, "can't be allocated"))
		return 0;
	return tar_decode_warn(level, reason, err);
}

static int tar_decode_one(struct tar_decode_level *level, struct archive_entry *entry, struct error *err)
{
	bool is_file = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry);
	const char *path = archive_entry_pathname(entry);
	size_t folder = is_file && path && level->decode->setup->nested ? tar_name_stem(path) : 0;
	uint64_t size;
	int r;

	if (archive_entry_is_encrypted(entry))
		return tar_decode_refuse(level, path, "is encrypted", err);
	if (!archive_entry_filetype(entry) && !archive_entry_hardlink(entry))
		return tar_decode_failed(level, TAR_DECODE_VOLUME, err);
	r = tar_decode_check_order(level, err);
	if (r < 0)
		return r;
	if (folder)
		return tar_decode_nested(level, path, folder, err);
	size = (uint64_t)archive_entry_size(entry); /* libarchive may change it at the end of the content */
	r = tar_decode_entry(level, entry, err);
	return r < 0 || !is_file ? r : tar_decode_data(level, path, size, err);
}

/* Applies the global headers of a tar to the entry, whose own headers libarchive has just read. */
static int tar_decode_global(struct tar_decode_level *level, struct archive_entry *entry, struct error *err)
{
	uint64_t position = (uint64_t)archive_read_header_position(level->archive);
	const struct tar_global *global = &level->global;
	bool holds[TAR_GLOBAL_KEYS];
	const uint8_t *headers;
	size_t length;

	if (level->zip.buffer)
		return 0;
	headers = tar_input_kept(&level->input, position, &length);
	tar_input_forget(&level->input);
	if (!headers)
		return tar_decode_failed(level, TAR_INPUT_HEADERS, err);
	if (tar_global_walk(&level->global, headers, length, holds) < 0)
		return tar_decode_failed(level, global->reason, err);
	if (holds[TAR_GLOBAL_UID])
		archive_entry_set_uid(entry, global->value[TAR_GLOBAL_UID]);
	if (holds[TAR_GLOBAL_GID])
		archive_entry_set_gid(entry, global->value[TAR_GLOBAL_GID]);
	if (holds[TAR_GLOBAL_MTIME])
		archive_entry_set_mtime(entry, global->value[TAR_GLOBAL_MTIME], (long)global->nanoseconds);
	return global->is_volume ? tar_decode_failed(level, TAR_DECODE_VOLUME, err) : 0;
}

/* Makes a name in a zip UTF-8: the entry's path, or a symbolic link's target. */
static int tar_decode_convert(struct tar_decode_level *level, struct archive_entry *entry, const char *name,
			      void (*copy)(struct archive_entry *entry, const char *name), struct error *err)
{
	auto_free char *converted = NULL;
	int r = name ? tar_charset_convert(&tar_decode_charset, name, &converted) : 0;

	if (r == -ENOMEM)
		return error_no_memory(err);
	if (r < 0)
		return error_set(err, r, "'%s': the name '%.100s' in it is neither in UTF-8 nor in %.40s: name its "
				 "character set by --zip-charset", level->decode->name, name, tar_decode_charset.name);
	if (converted)
		copy(entry, converted);
	return 0;
}

static int tar_decode_names(struct tar_decode_level *level, struct archive_entry *entry, struct error *err)
{
	int r;

	if (!level->zip.buffer)
		return 0;
	r = tar_decode_convert(level, entry, archive_entry_pathname(entry), archive_entry_copy_pathname, err);
	if (r < 0 || archive_entry_filetype(entry) != AE_IFLNK)
		return r;
	return tar_decode_convert(level, entry, archive_entry_symlink(entry), archive_entry_copy_symlink, err);
}

static int tar_decode_next_header(struct tar_decode_level *level, struct archive_entry **ret)
{
	if (!level->zip.buffer)
		tar_input_keep(&level->input, level->archive);
	return archive_read_next_header(level->archive, ret);
}

static int tar_decode_entries(struct tar_decode_level *level, struct error *err)
{
	struct archive_entry *entry;
	int code, r = 0;

	while ((code = tar_decode_next_header(level, &entry)) != ARCHIVE_EOF) {
		if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
			return tar_decode_failed(level, tar_decode_reason(level->archive), err);
		if (!level->is_numbered)
			level->number = level->decode->archives++;
		level->is_numbered = true;
		if (code == ARCHIVE_WARN)
			r = tar_decode_warning(level, err);
		if (r == 0)
			r = tar_decode_global(level, entry, err);
		if (r == 0)
			r = tar_decode_names(level, entry, err);
		if (r == 0)
			r = tar_decode_one(level, entry, err);
		if (r < 0)
			return r;
		if (!level->zip.buffer)
			(void)archive_read_data_skip(level->archive); /* of a link; a failure fails the next call */
		level->entries++;
		if (archive_entry_filetype(entry) != AE_IFLNK) /* libarchive counts a compressed target twice */
			level->reached = tar_decode_position(level);
	}
	return 0;
}

/* Decodes one of the archives that follow each other in a file. */
static int tar_decode_archive(struct tar_decode_level *level, struct error *err)
{
	int r = tar_decode_open(level, err);

	if (r == 0)
		r = tar_decode_entries(level, err);
	if (r == 0) /* libarchive looked for one more header, and took the mark, one block of it, or nothing */
		level->mark = (uint64_t)(archive_filter_bytes(level->archive, 0) -
					 archive_read_header_position(level->archive));
	tar_input_end_archive(&level->input, take_ptr(&level->archive));
	level->count++;
	level->is_numbered = false;
	return r;
}

/* --- zip --- */

/* Reads the first bytes, because a zip is read in another order. */
static int tar_decode_look(struct tar_decode_level *level, struct error *err)
{
	const char *reason;
	int64_t n = 1;

	while (level->head_used < sizeof(level->head) && n > 0) {
		level->head_at = level->head_used; /* take from the file, not from head */
		n = tar_decode_take(level, level->head + level->head_used, sizeof(level->head) - level->head_used,
				    &reason);
		level->head_used += n > 0 ? (size_t)n : 0;
	}
	level->head_at = 0;
	return n < 0 ? tar_decode_failed(level, reason, err) : 0;
}

/* Opens the zip in its file; one that is not seekable is copied to the spool first. */
static int tar_decode_find_zip(struct tar_decode_level *level, struct error *err)
{
	uint64_t size = tar_zip_file_size(level->fd), base = 0;
	const char *reason = "";
	int fd = level->fd;
	int64_t n;

	if (size) {
		base = (uint64_t)lseek(fd, 0, SEEK_CUR) - level->head_used;
		size -= base;
	} else {
		fd = level->decode->setup->spool;
		n = tar_zip_spool(tar_decode_take, level, fd, &reason);
		if (n < 0)
			return tar_decode_failed(level, reason, err);
		size = (uint64_t)n;
	}
	level->decode->taken = size;
	if (tar_zip_open(&level->zip, fd, base, size, tar_zip_is_program(level->head, level->head_used), &reason) < 0)
		return tar_decode_failed(level, reason, err);
	return 0;
}

static int tar_decode_open_zip(struct tar_decode_level *level, struct error *err)
{
	int r = tar_decode_new(level, archive_read_support_format_zip_seekable, err);

	if (r < 0)
		return r;
	if (tar_zip_attach(&level->zip, level->archive) != ARCHIVE_OK)
		return tar_decode_failed(level, tar_decode_reason(level->archive), err);
	return 0;
}

/* Decodes the parts of a zip: one, or several of an archive whose offsets wrap. */
static int tar_decode_zip_parts(struct tar_decode_level *level, struct error *err)
{
	const char *reason;
	int r = 0, next;

	while (r == 0 && (next = tar_zip_next(&level->zip, &reason)) != 0) {
		r = next < 0 ? tar_decode_failed(level, reason, err) : tar_decode_open_zip(level, err);
		if (r == 0)
			r = tar_decode_entries(level, err);
		archive_read_free(take_ptr(&level->archive));
	}
	return r;
}

/* Decodes a zip. Checks the number of entries, because libarchive returns entries that share a place only once. */
static int tar_decode_zip(struct tar_decode_level *level, struct error *err)
{
	locale_t before = tar_decode_locale ? uselocale(tar_decode_locale) : 0;
	int r = tar_decode_find_zip(level, err);

	if (r == 0)
		r = tar_decode_zip_parts(level, err);
	if (r == 0 && !tar_zip_has(&level->zip, level->entries))
		r = tar_decode_failed(level, TAR_DECODE_OVERLAP, err);
	tar_zip_close(&level->zip);
	if (before)
		uselocale(before);
	return r;
}

static int tar_decode_check_end(struct tar_decode_level *level, struct error *err)
{
	if (level->mark < TAR_DECODE_MARK && level->decode->setup->require_end)
		return tar_decode_failed(level, "is incomplete: it has no mark of its end, two blocks of zeros", err);
	if (!level->mark)
		return tar_decode_warn(level, "has no mark of its end: perhaps an incomplete download", err);
	return 0;
}

static int tar_decode_tar(struct tar_decode_level *level, struct error *err)
{
	int r = 1;

	level->unpack = tar_unpack_open(tar_decode_take, level);
	if (!level->unpack || !tar_input_open(&level->input, tar_decode_next, level))
		r = error_no_memory(err);
	while (r > 0) {
		r = tar_decode_archive(level, err);
		if (r == 0)
			r = tar_decode_follows(level, err);
	}
	if (r == 0)
		r = tar_decode_check_end(level, err);
	tar_input_close(&level->input);
	tar_unpack_close(level->unpack);
	return r;
}

static int tar_decode_level(struct tar_decode_level *level, struct error *err)
{
	int r = level->outer ? 0 : tar_decode_look(level, err);
	bool is_zip;

	if (r < 0)
		return r;
	is_zip = tar_zip_begins(level->head, level->head_used) || tar_zip_is_program(level->head, level->head_used);
	return (is_zip ? tar_decode_zip : tar_decode_tar)(level, err);
}

int tar_decode_run(const struct tar_decode_setup *setup)
{
	struct tar_decode decode = { .setup = setup, .out = malloc(TAR_DECODE_BUFFER),
				     .xattrs = malloc(DSFS_XATTRS_MAX) };
	struct error err = { 0 };
	int r = 0;

	if (!decode.out || !decode.xattrs)
		return EXIT_FAILURE;
	for (size_t i = 0; r == 0 && i < setup->count; i++) {
		struct tar_decode_level level = { .decode = &decode, .fd = setup->fds[i], .prefix = "" };

		decode.name = setup->names[i];
		decode.source = (uint32_t)i;
		decode.frames = (struct tar_frames){ .fd = setup->fetched };
		decode.taken = decode.grown = 0;
		r = tar_decode_level(&level, &err);
	}
	if (r < 0)
		r = tar_decode_text(&decode, TAR_STREAM_FAILED, err.reason, NULL);
	else
		r = tar_decode_head(&decode, TAR_STREAM_END, 0, NULL);
	if (r == 0)
		r = tar_decode_flush(&decode, NULL);
	free(decode.out);
	free(decode.xattrs);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
