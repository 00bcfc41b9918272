/* SPDX-License-Identifier: MIT */
/* A version as an EROFS whose files lie on the members of its volume: the kernel mounts it with them as further
 * devices. The image itself has the metadata, and the ends of files that share a block with something else. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"
#include "image/version.h"
#include "io/array.h"

struct erofs_image;

struct erofs_image_sizes {
	uint64_t bytes;        /* of the image */
	uint64_t inodes;
	uint64_t copied_files; /* of which the image has some content, */
	uint64_t copied_bytes; /* and how much of all of them */
	uint32_t devices;
	bool needs_48bit; /* Linux 6.15 */
};

/* Lays everything out; reads the last block of each file, to learn what lies behind its end. suid: set-uid and set-gid
 * bits are kept. -EOPNOTSUPP: the version has compressed content; -ENOLINK: a member is missing. array, version and
 * index must live as long. */
must_check int erofs_image_plan(struct array_source *array, const struct version *version, const struct index *index,
				bool suid, struct erofs_image **ret, struct error *err);
void erofs_image_free(struct erofs_image *image); /* may be NULL */
struct erofs_image_sizes erofs_image_sizes(const struct erofs_image *image);
/* Into an empty file. The same version gives the same bytes. */
must_check int erofs_image_write(struct erofs_image *image, int fd, struct error *err);
