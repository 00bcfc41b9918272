/* SPDX-License-Identifier: MIT */
/* The table of handlers: what each FUSE request does. */
#pragma once
#include "fuse/channel.h"

/* Handles a request of the worker that is the context. */
void ops_handle(void *context, struct channel_request *request);
