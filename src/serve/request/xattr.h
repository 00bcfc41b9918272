/* SPDX-License-Identifier: MIT */
/* GETXATTR and LISTXATTR. They never return ENOSYS: the kernel would not ask again, and another version may have
 * attributes. */
#pragma once
#include "serve/worker/worker.h"

void xattr_handle(struct worker *worker, struct channel_request *request);
/* The same of a node that has none. */
void xattr_none(struct worker *worker, struct channel_request *request);
