/* SPDX-License-Identifier: MIT */
/* Notes the request in whose work a worker crashed, so that a successor answers it EIO when that happens again. */
#pragma once
#include "fuse/channel.h"
#include "serve/record/record.h"

#define CRASH_MOST 2u /* a request at fault so often is answered EIO */

/* From now on signals that end a program mark the crash in the record; NULL: in none any more. */
void crash_watch(struct record *record);
/* Names the calling thread as this worker. */
void crash_name(unsigned worker);
/* Notes that a worker begins to work on a request. False: it crashed the server too often. */
bool crash_begin(struct record *record, unsigned worker, const struct channel_request *request);
