/* SPDX-License-Identifier: MIT */
/* Runs a program and waits for its end. */
#pragma once
#include "base/error.h"

/* Descriptors for the standard input, output and error of a program; -1: it has this process's. */
struct invoke_streams {
	int in, out, err;
};

/* Runs in the new process, with these streams, before the program does. If it fails, the program does not run. */
typedef int invoke_prepare(struct error *err);

/* Runs a program, which is searched in PATH if it has no slash, and waits for its end. prepare may be NULL. Returns the
 * program's status as waitpid(2) says it, at least 0; -errno: it was not started, or its status is unknown. */
must_check int invoke_run(const char *const argv[], struct invoke_streams streams, invoke_prepare *prepare,
			  struct error *err);
