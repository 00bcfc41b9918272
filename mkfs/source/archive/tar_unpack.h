/* SPDX-License-Identifier: MIT */
/* Decompresses the bytes of an archive to their very end, so that every checksum is checked, through all compressed
 * streams that follow each other. */
#pragma once
#include "source/archive/tar_input.h"

/* Reason of an archive that ends too early. */
#define TAR_UNPACK_CUT "the archive ends in the middle: incomplete download?"
/* Reason of a file that is none. */
#define TAR_UNPACK_UNKNOWN "is not a tar or zip archive, or not compressed with gzip, bzip2, xz or zstd"

struct tar_unpack;

/* Opens a decompressor without reading yet. NULL: no memory. */
struct tar_unpack *tar_unpack_open(tar_input_source source, void *argument);
void tar_unpack_close(struct tar_unpack *unpack);
/* Reads decompressed bytes: a tar_input_source whose argument is a struct tar_unpack. The reason lives until close. */
int64_t tar_unpack_read(void *unpack, void *to, size_t room, const char **reason);
