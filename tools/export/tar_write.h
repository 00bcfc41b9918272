/* SPDX-License-Identifier: MIT */
/* Writes a tar archive in pax format to a descriptor: the same calls give the same bytes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/index.h"
#include "image/inode.h"

struct tar_write;

/* An entry, which is written with "./" before its path. */
struct tar_write_entry {
	const char *path;
	const char *link; /* an earlier path that this is a hard link to; NULL: an inode of its own */
	const struct inode *inode;
};

/* Opens an archive of a version with this index. */
must_check int tar_write_open(int fd, const struct index *index, struct tar_write **ret, struct error *err);
/* Begins an entry. For a regular file that is no hard link, size bytes of content must follow, in order. */
must_check int tar_write_head(struct tar_write *tar, const struct tar_write_entry *entry, struct error *err);
must_check int tar_write_data(struct tar_write *tar, const void *bytes, size_t length, struct error *err);
/* Adds zeros that lie in a hole of the index. */
must_check int tar_write_hole(struct tar_write *tar, uint64_t length, struct error *err);
/* Writes the end of the archive. */
must_check int tar_write_finish(struct tar_write *tar, struct error *err);
uint64_t tar_write_bytes(const struct tar_write *tar);
/* Frees the writer; NULL does nothing. Without tar_write_finish() the archive is incomplete. */
void tar_write_free(struct tar_write *tar);
