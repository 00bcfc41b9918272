/* SPDX-License-Identifier: MIT */
/* Notes the request at which a worker crashed, so that a successor answers it EIO if it crashes again. */
#pragma once
#include "fuse/channel.h"
#include "serve/record/record.h"

#define CRASH_MOST 2u /* a request at fault so often is answered EIO */

/* From now on signals that end a program mark the crash in the record; NULL: in none any more. */
void crash_watch(struct record *record);
/* Names the calling thread by its hand in the record. */
void crash_name(unsigned hand);
/* Notes that a worker begins to work on a request. False: it crashed the server too often. */
bool crash_begin(struct record *record, unsigned worker, const struct channel_request *request);
/* Notes that a worker goes on with a READ that it has begun; record_leave() follows. */
void crash_resume(struct record *record, unsigned worker, const struct channel_request *request);
