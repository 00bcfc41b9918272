/* SPDX-License-Identifier: MIT */
/* fopen(3) is left to the C library. A stream of fopencookie(3) could be served, but wide characters cannot be
 * read from it (fgetwc(3) says that the file ends), and freopen(3) crashes on it. Larger numbers than are
 * counted here are not looked at: what goes wrong then fails with EBADF. */
#include "preload/streams.h"

#include <errno.h>
#include <stdint.h>

#include "preload/hook.h"
#include "preload/inside.h"
#include "preload/next.h"
#include "preload/open.h"
#include "preload/real.h"

#define STREAMS_NUMBERS 1024

static _Atomic unsigned char streams[STREAMS_NUMBERS]; /* how many have this number */

static bool streams_can_have(int fd)
{
	return fd >= 0 && fd < STREAMS_NUMBERS;
}

void streams_add(int fd)
{
	if (streams_can_have(fd) && streams[fd] < UINT8_MAX)
		streams[fd]++;
}

static void streams_remove(int fd)
{
	if (streams_can_have(fd) && streams[fd])
		streams[fd]--;
}

bool streams_have(int fd)
{
	return streams_can_have(fd) && streams[fd];
}

/* --- the hooks --- */

HOOK FILE *fopen(const char *path, const char *mode)
{
	FILE *stream;

	open_prepare(path);
	stream = next()->fopen(path, mode);
	if (stream)
		streams_add(next()->fileno(stream));
	return stream;
}

HOOK FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	struct inside inside;
	FILE *reopened;

	open_prepare(path);
	if (table_has_any() && inside_enter(&inside)) {
		real_make(next()->fileno(stream), "freopen");
		inside_leave(&inside);
	}
	reopened = next()->freopen(path, mode, stream);
	if (reopened && !streams_have(next()->fileno(reopened)))
		streams_add(next()->fileno(reopened));
	return reopened;
}

HOOK int fclose(FILE *stream)
{
	int code = errno, fd = next()->fileno(stream);

	errno = code;
	streams_remove(fd);
	return next()->fclose(stream);
}

HOOK_ALIAS(fopen64, fopen);
HOOK_ALIAS(_IO_fopen, fopen);
HOOK_ALIAS(freopen64, freopen);
HOOK_ALIAS(_IO_fclose, fclose);
