/* SPDX-License-Identifier: MIT */
/* Decompresses the bytes of an archive to their very end, so that every checksum is checked. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Bytes read, 0 at the end; negative with a reason. */
typedef int64_t (*tar_unpack_source)(void *argument, void *to, size_t room, const char **reason);

struct tar_unpack;

/* NULL: no memory. Does not read yet. */
struct tar_unpack *tar_unpack_open(tar_unpack_source source, void *argument);
void tar_unpack_close(struct tar_unpack *unpack);
/* A tar_unpack_source itself, of a struct tar_unpack. The reason is valid until it is closed. */
int64_t tar_unpack_read(void *unpack, void *to, size_t room, const char **reason);
