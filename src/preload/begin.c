/* SPDX-License-Identifier: MIT */
/* Runs at the beginning and the end of the process. */
#include <stdio.h>

#include "preload/forward.h"
#include "preload/ending.h"
#include "preload/inside.h"
#include "preload/next.h"
#include "preload/report.h"
#include "preload/settings.h"

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
