/* SPDX-License-Identifier: MIT */
/* Writes a tar archive in pax format to a descriptor: the same calls give the same bytes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "extract/stream.h"
#include "image/index.h"

struct tar_write;

/* Opens an archive of a version with this index. */
must_check int tar_write_open(int fd, const struct index *index, struct tar_write **ret, struct error *err);
/* Adds the entries of a stream with the struct tar_write as its argument. */
extern const struct stream_taker tar_write_taker;
/* Writes the end of the archive. */
must_check int tar_write_finish(struct tar_write *tar, struct error *err);
uint64_t tar_write_bytes(const struct tar_write *tar);
/* Frees the writer; NULL does nothing. Without tar_write_finish() the archive is incomplete. */
void tar_write_free(struct tar_write *tar);
