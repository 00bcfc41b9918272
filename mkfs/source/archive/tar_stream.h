/* SPDX-License-Identifier: MIT */
/* Defines the messages of the process that decodes archives, and parses them. The packer trusts none of them, because
 * an archive may have taken over that process. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "source/attributes.h"

#define TAR_STREAM_PATH  65535u      /* bytes of a path */
#define TAR_STREAM_BLOCK (1u << 20)  /* bytes of content in a message */
#define TAR_STREAM_TEXT  400u        /* bytes of a warning or a failure */
#define TAR_STREAM_ARCHIVES (1u << 24)

enum tar_stream_kind {
	TAR_STREAM_ENTRY = 1, /* struct tar_stream_entry_head; path, link target and xattrs */
	TAR_STREAM_DATA,      /* content of the last entry: offset as uint64_t, bytes */
	TAR_STREAM_WARNING,   /* text */
	TAR_STREAM_FAILED,    /* text */
	TAR_STREAM_END,       /* nothing */
};

/* The head of a message. Both ends are the same program, so numbers have its byte order. */
struct tar_stream_head {
	uint32_t kind;
	uint32_t length; /* of the bytes that follow */
};

struct tar_stream_entry_head {
	uint64_t size, uid, gid;
	int64_t mtime;
	uint32_t mtime_nsec;
	uint32_t mode;
	uint32_t path_length, link_length, xattrs_length;
	uint32_t is_link;    /* a hard link, to link */
	uint32_t is_implied; /* a folder that the archive does not name */
	uint32_t archive;    /* counted from 0, nested ones too, in order of their first entries */
	uint32_t source;     /* the archive on the command line */
};

/* An entry of an archive; it is valid until the next one. */
struct tar_stream_entry {
	const char *path; /* as the archive has it */
	const char *link; /* target of a hard or symbolic link, else "" */
	bool is_link;     /* a hard link */
	bool is_implied;  /* a folder without attributes of its own */
	uint32_t archive, source; /* as struct tar_stream_entry_head has them; source is not checked */
	const uint8_t *xattrs; /* a set as a volume stores it, or NULL */
	uint32_t xattrs_length;
	struct attributes attributes; /* device, inode, ctime: 0 */
};

/* A function that reads the next bytes. Returns their number, 0 at the end. */
typedef int64_t (*tar_stream_source)(void *argument, void *to, size_t room, struct error *err);

struct tar_stream {
	tar_stream_source source;
	void *argument;
	uint8_t *buffer; /* bytes that were read; those from at to used are not parsed yet */
	size_t at, used;
	uint8_t *payload; /* strings and xattrs of the entry */
	struct tar_stream_entry entry;
	uint64_t size, reached;        /* of the entry: its size, and how far its content has come */
	uint64_t offset, content_left; /* of the last TAR_STREAM_DATA */
	char text[TAR_STREAM_TEXT + 1];
};

must_check int tar_stream_open(struct tar_stream *stream, tar_stream_source source, void *argument,
			       struct error *err);
void tar_stream_close(struct tar_stream *stream); /* a zeroed one may be closed, too */
/* Reads the next message: 1 and an entry, its data, or a warning in text; 0 at the end. Skips content of the last
 * message that was not read. -EPIPE: the stream breaks off; -EPROTO: our decoder would not send this. */
must_check int tar_stream_next(struct tar_stream *stream, enum tar_stream_kind *ret, struct error *err);
/* Writes a warning or a failure with one call, so that threads may do it: from a process that has nothing else to say,
 * or nothing more. It fails only if the packer has ended, as this process then does. */
void tar_stream_say(int fd, enum tar_stream_kind kind, const char *text);
/* Reads what tar_stream_say() has written. Returns 1; 0 at the end of the pipe. -EPROTO: our process would not send
 * this. */
must_check int tar_stream_hear(int fd, enum tar_stream_kind *ret, char text[TAR_STREAM_TEXT + 1], struct error *err);
/* Reads the next bytes of the content, at most content_left. */
must_check int tar_stream_content(struct tar_stream *stream, void *to, uint64_t length, struct error *err);
