/* SPDX-License-Identifier: MIT */
/* Flushes standard output and reports write errors. */
#include "base/program/output.h"

#include <stdio.h>

int output_flush(struct error *err)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return error_errno(err, "cannot write to standard output");
	return 0;
}
