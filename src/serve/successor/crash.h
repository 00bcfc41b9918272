/* SPDX-License-Identifier: MIT */
/* Notes the request at which a worker crashed, so that a successor answers it EIO if it crashes again; likewise
 * the work that threads do beside requests. */
#pragma once
#include "fuse/channel.h"
#include "serve/recovery/recovery.h"

#define CRASH_MOST 2u /* a request at fault so often is answered EIO, a version is not opened any more */

/* Work beside requests, which has one of these in place of an opcode of FUSE. A release never changes a number. */
#define CRASH_OPENING 0x10000u /* of the version with the sequence `nodeid`, and the UUID by its hash in `offset` */
#define CRASH_DUTIES  0x10001u /* of the control thread: looks at the volume and its members */

struct crash_version {
	const char *label;
	uint64_t sequence;
	const uint8_t *uuid; /* 16 bytes */
};

/* From now on signals that end a program mark the crash in the record; NULL: in none any more. */
void crash_watch(struct recovery *record);
/* Names the calling thread by its hand in the record. */
void crash_name(unsigned hand);
/* Notes that a worker begins to work on a request. False: it crashed the server too often. */
bool crash_begin(struct recovery *record, unsigned worker, const struct channel_request *request);
/* Notes that a worker goes on with a READ that it has begun; recovery_leave() follows. */
void crash_resume(struct recovery *record, unsigned worker, const struct channel_request *request);

/* Notes that a thread begins to open a version, and sets *ret_former to what it had in hand, for crash_return(). -EIO:
 * that crashed the server too often. */
must_check int crash_begin_opening(struct recovery *record, unsigned hand, struct crash_version version,
				   struct recovery_request *ret_former, struct error *err);
void crash_return(struct recovery *record, unsigned hand, const struct recovery_request *former);
/* Notes that the control thread begins its duties; recovery_leave() follows. */
void crash_begin_duties(struct recovery *record, unsigned hand);
/* Whether a server crashed in these duties. */
bool crash_had_duties(const struct recovery *record);
/* Says what crashed a server, and how often. */
void crash_tell(const char *mountpoint, const struct recovery_request *request, uint32_t times);
