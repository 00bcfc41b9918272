/* SPDX-License-Identifier: MIT */
/* Reads the next entries of a version while earlier ones are verified and taken: into an archive, or as files. */
#pragma once
#include "image/index.h"
#include "image/inode.h"
#include "io/array.h"

struct progress;
struct stream;

/* A name with its inode. Only the first name of an inode brings its content. */
struct stream_entry {
	const char *path; /* "./train/1.jpg"; the root is "." */
	const char *link; /* an earlier path that this is a hard link to; NULL: an inode of its own */
	const struct inode *inode;
};

/* The functions that take entries, in order: head(), then the content of a regular file that is no hard link, in order,
 * as verified bytes and as zeros that lie in a hole of the index, then end(), which may be NULL. */
struct stream_taker {
	int (*head)(void *argument, const struct stream_entry *entry, struct error *err);
	int (*data)(void *argument, const void *bytes, size_t length, struct error *err);
	int (*hole)(void *argument, uint64_t length, struct error *err);
	int (*end)(void *argument, struct error *err);
};

struct stream_setup {
	const struct index *index;
	struct array_source *array;
	const struct stream_taker *taker;
	void *argument; /* of the taker */
	struct progress *progress; /* or NULL */
};

must_check int stream_open(const struct stream_setup *setup, struct stream **ret, struct error *err);
/* Adds an entry with all its content; copies its arguments. May return the failure of an earlier entry. */
must_check int stream_add(struct stream *stream, const struct stream_entry *entry, struct error *err);
/* Waits until all entries are taken. */
must_check int stream_flush(struct stream *stream, struct error *err);
/* Waits for reads in flight and frees the stream; NULL does nothing. */
void stream_close(struct stream *stream);
