/* SPDX-License-Identifier: MIT */
/* Tells the daemons and writes the report, unless the process only borrows its parent's memory. */
#include "preload/process/ending.h"

#include "lib/direct/context.h"
#include "preload/process/inside.h"
#include "preload/process/private.h"
#include "preload/process/report.h"

void ending_tell(bool is_confined)
{
	struct inside inside;

	if (private_is_anothers())
		return;
	if (inside_enter(&inside)) { /* not within our own code, which may hold the lock */
		context_tell();
		inside_leave(&inside);
	}
	report_write(is_confined);
}
