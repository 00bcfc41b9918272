/* SPDX-License-Identifier: MIT */
/* The table of handlers: what each FUSE request does. Handlers get their worker as context. */
#pragma once
#include "fuse/channel.h"

extern const struct channel_handlers ops_handlers;
