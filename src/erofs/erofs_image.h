/* SPDX-License-Identifier: MIT */
/* Makes an EROFS image of a version whose files stay on the volume: the kernel mounts it with the members as further
 * devices. The image itself holds the metadata, and the ends of files that share a block with something else. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "io/array.h"

struct erofs_image;

struct erofs_image_sizes {
	uint64_t bytes;        /* of the image */
	uint64_t inodes;
	uint64_t copied_files; /* files with some content in the image */
	uint64_t copied_bytes; /* bytes of these files in the image */
	uint32_t devices;
	bool needs_48bit; /* Linux 6.15 */
};

/* Decides where everything goes, and reads the last block of each file to learn what follows its end. suid: keep
 * set-uid and set-gid bits. -EOPNOTSUPP: the version has compressed content; -ENOLINK: a member is missing. array,
 * version and index must outlive the image. */
must_check int erofs_image_plan(struct array_source *array, const struct version *version, const struct index *index,
				bool suid, struct erofs_image **ret, struct error *err);
void erofs_image_free(struct erofs_image *image); /* may be NULL */
struct erofs_image_sizes erofs_image_sizes(const struct erofs_image *image);
/* Writes the image to an empty file. The same version always gives the same bytes. */
must_check int erofs_image_write(struct erofs_image *image, int fd, struct error *err);
