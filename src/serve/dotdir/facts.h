/* SPDX-License-Identifier: MIT */
/* Answers the ioctls that only ask, with a struct of datasetfs/control.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/catalogue/catalogue.h"
#include "serve/worker/worker.h"

/* Answers DSFS_IOC_VERSION. Call it in a section. */
void facts_version(struct worker *worker, struct channel_request *request);
/* Answers DSFS_IOC_VERSION on a directory of the mount. Call it in a section. */
void facts_version_of(struct worker *worker, struct channel_request *request);
/* Answers DSFS_IOC_DAEMON. */
void facts_daemon(struct worker *worker, struct channel_request *request);

/* Copies the argument of DSFS_IOC_VERSIONS, as the answer may overwrite it. False: the sizes do not fit, so it is
 * another command. */
bool facts_take_list(const struct channel_request *request, uint64_t *ret_after);
/* Writes the answer to DSFS_IOC_VERSIONS into the payload. Returns its length. */
size_t facts_list(const struct catalogue *catalogue, uint64_t after, struct channel_request *request);
