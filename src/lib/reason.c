/* SPDX-License-Identifier: MIT */
/* Keeps one reason for each thread. */
#include "lib/reason.h"

#include "datasetfs/datasetfs.h"

static __thread struct error reason;

struct error *reason_begin(void)
{
	error_clear(&reason);
	return &reason;
}

const char *dsfs_reason(void)
{
	return reason.reason;
}

const char *dsfs_release(void)
{
	return DATASETFS_RELEASE;
}
