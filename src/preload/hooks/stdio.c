/* SPDX-License-Identifier: MIT */
/* Hooks fopen(3), which is left to the C library. A stream of fopencookie(3) could be served, but wide characters
 * cannot be read from it (fgetwc(3) says that the file ends), and freopen(3) crashes on it. */
#include <errno.h>

#include "preload/files/real.h"
#include "preload/hooks/hook.h"
#include "preload/process/inside.h"
#include "preload/process/next.h"
#include "preload/process/streams.h"

HOOK(fopen);
FILE *hook_fopen(const char *path, const char *mode)
{
	FILE *stream;

	real_make_named(path);
	stream = next()->fopen(path, mode);
	if (stream)
		streams_add(next()->fileno(stream));
	return stream;
}

HOOK(freopen);
FILE *hook_freopen(const char *path, const char *mode, FILE *stream)
{
	struct inside inside;
	FILE *reopened;

	real_make_named(path);
	if (table_has_any() && inside_enter(&inside)) {
		real_make(next()->fileno(stream), "freopen");
		inside_leave(&inside);
	}
	reopened = next()->freopen(path, mode, stream);
	if (reopened && !streams_have(next()->fileno(reopened)))
		streams_add(next()->fileno(reopened));
	return reopened;
}

HOOK(fclose);
int hook_fclose(FILE *stream)
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
