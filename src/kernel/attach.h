/* SPDX-License-Identifier: MIT */
/* Mounts an EROFS from an image and further devices. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct attach {
	const char *mountpoint;
	const char *image;          /* block devices: of the image, */
	const char *const *devices; /* and of the others, in the order of their slots */
	uint32_t count;
	bool noexec, suid;
};

/* On failure err includes the kernel's own message, if it has one. */
must_check int attach_mount(const struct attach *attach, struct error *err);
