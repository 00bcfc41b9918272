/* SPDX-License-Identifier: MIT */
/* The end and the directory of a zip: parts lie within the file and move on, and a failure has a reason. The first byte
 * says whether the rest begins the file or lies above 4 GiB, and whether a program may come before the archive. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "source/archive/tar_zip.h"

static void check_parts(struct tar_zip *zip)
{
	const char *reason = NULL;
	uint64_t before = 0;
	int r;

	while ((r = tar_zip_next(zip, &reason)) > 0) {
		if (zip->slice_end <= before || zip->slice_end > zip->directory_end || zip->directory_end > zip->size ||
		    (zip->is_wrapped && zip->shift > zip->directory))
			__builtin_trap();
		before = zip->slice_end;
	}
	if (r < 0 && !reason)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint64_t at = length && bytes[0] & 1 ? UINT64_C(1) << 32 : 0;
	const char *reason = NULL;
	struct tar_zip zip;
	int fd = memfd_create("zip", 0);

	if (fd < 0)
		return 0;
	if (length && pwrite(fd, bytes + 1, length - 1, (off_t)at) == (ssize_t)length - 1) {
		if (tar_zip_open(&zip, fd, 0, at + length - 1, bytes[0] & 2, &reason) == 0)
			check_parts(&zip);
		else if (!reason)
			__builtin_trap();
		tar_zip_close(&zip);
	}
	close(fd);
	return 0;
}
