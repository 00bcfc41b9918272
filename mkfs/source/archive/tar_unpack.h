/* SPDX-License-Identifier: MIT */
/* Decompresses the bytes of an archive to their very end, so that every checksum is checked, and through as many
 * compressed streams as follow each other. */
#pragma once
#include "source/archive/tar_input.h"

/* The reason when the archive ends too early. */
#define TAR_UNPACK_CUT "the archive ends in the middle: incomplete download?"

struct tar_unpack;

/* NULL: no memory. Does not read yet. */
struct tar_unpack *tar_unpack_open(tar_input_source source, void *argument);
void tar_unpack_close(struct tar_unpack *unpack);
/* A tar_input_source itself, of a struct tar_unpack. The reason is valid until it is closed. */
int64_t tar_unpack_read(void *unpack, void *to, size_t room, const char **reason);
