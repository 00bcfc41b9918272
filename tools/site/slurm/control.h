/* SPDX-License-Identifier: MIT */
/* Runs datasetfsctl: slurmstepd has threads, and tools/site/attach/ wants a process that has one. */
#pragma once
#include "slurm/site.h"

/* Runs it with these arguments, NULL-terminated and without its own name, and waits. It gets no environment but PATH.
 * Its failure is the error: the line that it wrote. -ETIMEDOUT: it did not end in time, and was killed. */
must_check int control_run(const struct site *site, const char *const *arguments, struct error *err);
