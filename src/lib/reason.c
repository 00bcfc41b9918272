/* SPDX-License-Identifier: MIT */
/* Why the last call of a thread failed. */
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
