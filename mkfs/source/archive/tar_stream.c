/* SPDX-License-Identifier: MIT */
/* Reads messages and checks every length and number in them. */
#include "source/archive/tar_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/span.h"
#include "base/transfer.h"
#include "datasetfs/format.h"
#include "image/xattr.h"

#define TAR_STREAM_BUFFER  (256u << 10)
#define TAR_STREAM_SKIP    4096u
#define TAR_STREAM_PAYLOAD (sizeof(struct tar_stream_entry_head) + 2 * (TAR_STREAM_PATH + 1) + DSFS_XATTRS_MAX + 1)
#define TAR_STREAM_OWNER   UINT32_C(0xfffffffe) /* the largest valid user or group */

int tar_stream_open(struct tar_stream *stream, tar_stream_source source, void *argument, struct error *err)
{
	*stream = (struct tar_stream){ .source = source, .argument = argument };
	stream->buffer = malloc(TAR_STREAM_BUFFER);
	stream->payload = malloc(TAR_STREAM_PAYLOAD);
	return stream->buffer && stream->payload ? 0 : error_no_memory(err);
}

void tar_stream_close(struct tar_stream *stream)
{
	free(stream->buffer);
	free(stream->payload);
	*stream = (struct tar_stream){ 0 };
}

static int tar_stream_wrong(const char *what, struct error *err)
{
	return error_set(err, -EPROTO, "the process that decodes the archive sent %s", what);
}

/* Reads *ret_read bytes into the buffer, or directly into to if the caller wants many. */
static int tar_stream_fill(struct tar_stream *stream, uint8_t *to, size_t length, size_t *ret_read, struct error *err)
{
	bool direct = length >= TAR_STREAM_BUFFER / 4;
	int64_t n = stream->source(stream->argument, direct ? to : stream->buffer, direct ? length : TAR_STREAM_BUFFER,
				   err);

	if (n < 0)
		return (int)n;
	if (n == 0)
		return error_set(err, -EPIPE, "the process that decodes the archive ended too early");
	stream->at = 0;
	stream->used = direct ? 0 : (size_t)n;
	*ret_read = direct ? (size_t)n : 0;
	return 0;
}

static int tar_stream_read(struct tar_stream *stream, void *to, size_t length, struct error *err)
{
	uint8_t *next = to;
	size_t step;
	int r;

	for (; length; next += step, length -= step) {
		step = stream->used - stream->at < length ? stream->used - stream->at : length;
		memcpy(next, stream->buffer + stream->at, step);
		stream->at += step;
		if (step)
			continue;
		r = tar_stream_fill(stream, next, length, &step, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int tar_stream_content(struct tar_stream *stream, void *to, uint64_t length, struct error *err)
{
	if (length > stream->content_left)
		return error_set(err, -EINVAL, "more content was asked for than there is");
	stream->content_left -= length;
	return tar_stream_read(stream, to, length, err);
}

static int tar_stream_skip(struct tar_stream *stream, struct error *err)
{
	uint8_t skipped[TAR_STREAM_SKIP];
	uint64_t step;
	int r = 0;

	while (r == 0 && stream->content_left) {
		step = stream->content_left < sizeof(skipped) ? stream->content_left : sizeof(skipped);
		r = tar_stream_content(stream, skipped, step, err);
	}
	return r;
}

static int tar_stream_text(struct tar_stream *stream, uint32_t length, struct error *err)
{
	if (length > TAR_STREAM_TEXT)
		return tar_stream_wrong("a line that is too long", err);
	stream->text[length] = 0;
	return tar_stream_read(stream, stream->text, length, err);
}

static int tar_stream_data(struct tar_stream *stream, uint32_t length, struct error *err)
{
	uint64_t offset;
	int r;

	if (length < sizeof(offset) || length - sizeof(offset) > TAR_STREAM_BLOCK)
		return tar_stream_wrong("content of an impossible length", err);
	r = tar_stream_read(stream, &offset, sizeof(offset), err);
	if (r < 0)
		return r;
	length -= (uint32_t)sizeof(offset);
	if (offset < stream->reached || offset > stream->size || length > stream->size - offset)
		return error_set(err, -EBADMSG, "'%s' in the archive has content that is not in order or past its end",
				 stream->entry.path ? stream->entry.path : "");
	stream->offset = offset;
	stream->reached = offset + length;
	stream->content_left = length;
	return 0;
}

static bool tar_stream_name_follows(struct span before, struct span name)
{
	uint64_t common = before.size < name.size ? before.size : name.size;
	int order = common ? memcmp(before.base, name.base, common) : 0;

	return order < 0 || (order == 0 && before.size < name.size);
}

/* Checks the attribute at *at, sets *name, and moves *at behind its value. */
static bool tar_stream_xattr(struct span set, uint64_t *at, struct span *name)
{
	const struct dsfs_xattr *head = span_at(set, *at, sizeof(*head));
	const size_t prefix = strlen(XATTR_PREFIX);
	uint32_t value;

	if (!head)
		return false;
	name->size = dsfs_le32_get(head->name_length);
	value = dsfs_le32_get(head->value_length);
	*at += sizeof(*head);
	name->base = span_at(set, *at, name->size);
	if (!name->base || name->size <= prefix || name->size > DSFS_NAME_MAX ||
	    memcmp(name->base, XATTR_PREFIX, prefix) != 0 || memchr(name->base, 0, name->size))
		return false;
	*at += name->size;
	if (value > set.size - *at)
		return false;
	*at += value;
	return true;
}

static bool tar_stream_xattrs_are_right(struct span set)
{
	const struct dsfs_xattr_set *head = span_at(set, 0, sizeof(*head));
	struct span before = { 0 }, name;
	uint64_t at = sizeof(*head);

	if (!head || dsfs_le32_get(head->length) != set.size || !dsfs_le32_get(head->count))
		return false;
	for (uint32_t i = 0; i < dsfs_le32_get(head->count); i++, before = name)
		if (!tar_stream_xattr(set, &at, &name) || !tar_stream_name_follows(before, name))
			return false;
	return at == set.size;
}

static int tar_stream_check(const struct tar_stream_entry_head *head, const struct tar_stream_entry *entry,
			    struct error *err)
{
	uint32_t type = head->mode & S_IFMT;
	struct span set = { entry->xattrs, entry->xattrs_length };

	if ((type != S_IFREG && type != S_IFDIR && type != S_IFLNK && type != S_IFCHR && type != S_IFBLK &&
	     type != S_IFIFO && type != S_IFSOCK) || head->mode & ~(S_IFMT | 07777))
		return tar_stream_wrong("an impossible mode", err);
	if (strlen(entry->path) != head->path_length || strlen(entry->link) != head->link_length)
		return tar_stream_wrong("a name with a zero byte", err);
	if (head->mtime_nsec > 999999999 || head->is_link > 1 || head->is_implied > 1 ||
	    (head->is_implied && type != S_IFDIR) || (head->is_link && type != S_IFREG) ||
	    (set.base && !tar_stream_xattrs_are_right(set)))
		return tar_stream_wrong("impossible attributes", err);
	if (head->uid > TAR_STREAM_OWNER || head->gid > TAR_STREAM_OWNER)
		return error_set(err, -EOVERFLOW, "'%s' in the archive has an owner or a group above %u", entry->path,
				 TAR_STREAM_OWNER);
	if (head->archive >= TAR_STREAM_ARCHIVES)
		return error_set(err, -EOVERFLOW, "there are more than %u archives", TAR_STREAM_ARCHIVES);
	if (head->size > DSFS_FILE_MAX)
		return error_set(err, -EFBIG, "'%s' in the archive is larger than 2^62 bytes", entry->path);
	return 0;
}

/* Inserts a zero byte after each string in the payload, which moves the following ones up: the last one first. */
static void tar_stream_point(struct tar_stream *stream, const struct tar_stream_entry_head *head)
{
	char *path = (char *)stream->payload, *link = path + head->path_length + 1;
	char *xattrs = link + head->link_length + 1;

	memmove(xattrs, path + head->path_length + head->link_length, head->xattrs_length);
	memmove(link, path + head->path_length, head->link_length);
	link[-1] = 0;
	link[head->link_length] = 0;
	stream->entry = (struct tar_stream_entry){
		.path = path,
		.link = link,
		.is_link = head->is_link,
		.is_implied = head->is_implied,
		.archive = head->archive,
		.source = head->source,
		.xattrs = head->xattrs_length ? (uint8_t *)xattrs : NULL,
		.xattrs_length = head->xattrs_length,
		.attributes = { .size = S_ISREG(head->mode) && !head->is_link ? head->size : head->link_length,
				.mtime = head->mtime, .mtime_nsec = head->mtime_nsec, .mode = head->mode,
				.uid = (uint32_t)head->uid, .gid = (uint32_t)head->gid, .nlink = 1 },
	};
}

static int tar_stream_entry(struct tar_stream *stream, uint32_t length, struct error *err)
{
	struct tar_stream_entry_head head;
	int r;

	if (length < sizeof(head))
		return tar_stream_wrong("an entry that is too short", err);
	r = tar_stream_read(stream, &head, sizeof(head), err);
	if (r < 0)
		return r;
	if (head.path_length > TAR_STREAM_PATH || head.link_length > TAR_STREAM_PATH ||
	    head.xattrs_length > DSFS_XATTRS_MAX ||
	    length - sizeof(head) != (uint64_t)head.path_length + head.link_length + head.xattrs_length)
		return tar_stream_wrong("an entry of an impossible length", err);
	r = tar_stream_read(stream, stream->payload, length - sizeof(head), err);
	if (r < 0)
		return r;
	tar_stream_point(stream, &head);
	stream->reached = 0;
	stream->size = S_ISREG(head.mode) && !head.is_link ? head.size : 0;
	return tar_stream_check(&head, &stream->entry, err);
}

int tar_stream_next(struct tar_stream *stream, enum tar_stream_kind *ret, struct error *err)
{
	struct tar_stream_head head;
	int r = tar_stream_skip(stream, err);

	if (r == 0)
		r = tar_stream_read(stream, &head, sizeof(head), err);
	if (r < 0)
		return r;
	*ret = (enum tar_stream_kind)head.kind;
	switch (head.kind) {
	case TAR_STREAM_ENTRY:
		r = tar_stream_entry(stream, head.length, err);
		return r < 0 ? r : 1;
	case TAR_STREAM_DATA:
		r = tar_stream_data(stream, head.length, err);
		return r < 0 ? r : 1;
	case TAR_STREAM_WARNING:
		r = tar_stream_text(stream, head.length, err);
		return r < 0 ? r : 1;
	case TAR_STREAM_FAILED:
		r = tar_stream_text(stream, head.length, err);
		if (r == 0 && !*stream->text)
			return tar_stream_wrong("no reason why it failed", err);
		return r < 0 ? r : error_set(err, -EBADMSG, "%s", stream->text);
	case TAR_STREAM_END:
		return 0;
	default:
		return tar_stream_wrong("a message of an unknown kind", err);
	}
}

void tar_stream_say(int fd, enum tar_stream_kind kind, const char *text)
{
	struct {
		struct tar_stream_head head;
		char text[TAR_STREAM_TEXT];
	} message = { .head = { kind, (uint32_t)strnlen(text, TAR_STREAM_TEXT) } };

	memcpy(message.text, text, message.head.length);
	(void)transfer_write(fd, &message, sizeof(message.head) + message.head.length);
}

int tar_stream_hear(int fd, enum tar_stream_kind *ret, char text[TAR_STREAM_TEXT + 1], struct error *err)
{
	struct tar_stream_head head;
	ssize_t n = transfer_read(fd, &head, sizeof(head));

	if (n == 0)
		return 0;
	if (n != sizeof(head) || (head.kind != TAR_STREAM_WARNING && head.kind != TAR_STREAM_FAILED) ||
	    head.length > TAR_STREAM_TEXT || transfer_read(fd, text, head.length) != (ssize_t)head.length)
		return error_set(err, -EPROTO, "the process that fetches archives sent an impossible message");
	text[head.length] = 0;
	*ret = (enum tar_stream_kind)head.kind;
	return 1;
}
