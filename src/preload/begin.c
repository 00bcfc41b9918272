/* SPDX-License-Identifier: MIT */
/* Runs at the beginning and the end of the process. */
#include <stdio.h>

#include "preload/hooks/forward.h"
#include "preload/process/ending.h"
#include "preload/process/inside.h"
#include "preload/process/next.h"
#include "preload/process/report.h"
#include "preload/process/settings.h"

/* stderr for liblmdb.a, which prints there when the database is broken; see meson.build. */
extern FILE *preload_stderr;
FILE *preload_stderr;

__attribute__((constructor)) static void begin_process(void)
{
	struct inside inside;

	preload_stderr = stderr;
	next();
	forward_find();
	settings_mode();
	if (inside_enter(&inside)) {
		report_begin();
		inside_leave(&inside);
	}
}

__attribute__((destructor)) static void begin_end(void)
{
	ending_tell(false);
}
