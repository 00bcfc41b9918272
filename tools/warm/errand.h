/* SPDX-License-Identifier: MIT */
/* A job that the daemon of a mount does for this program: filling its cache (DSFS_IOC_WARM). */
#pragma once
#include "base/program/progress.h"
#include "datasetfs/control.h"
#include "warm/pathlist.h"

struct errand {
	const char *mount;
	const struct pathlist *list;
	struct progress *progress;
	struct dsfs_warm answer; /* the last one; state says whether the job has ended */
	/* errand.c's: */
	uint64_t job, sequence;
	bool is_lost; /* the daemon does not know the job */
	bool is_shown; /* the progress knows how much there is */
};

/* Has the job done, and returns when it has ended. On a signal it ends the job early, and fails with -EINTR. */
must_check int errand_run(struct errand *errand, struct error *err);
/* Whether the counts of the answer are right. */
bool errand_has_ended(const struct errand *errand);
