/* SPDX-License-Identifier: MIT */
/* Answers GETXATTR and LISTXATTR. The answer is never ENOSYS: the kernel would not ask again, and another version may
 * have attributes. */
#pragma once
#include "serve/worker/worker.h"

/* Answers for an inode of a version. Call it in a section. */
void xattr_handle(struct worker *worker, struct channel_request *request);
/* Answers for a node that has no attributes, as in .datasetfs. */
void xattr_none(struct worker *worker, struct channel_request *request);
