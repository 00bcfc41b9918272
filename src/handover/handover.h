/* SPDX-License-Identifier: MIT */
/* The messages between the daemon of a mount and clients that read past it: packets of a SOCK_SEQPACKET socket, some
 * with descriptors. Daemon and client may be of different releases, and neither trusts a length that the other sends.
 *
 *   daemon  greeting   as soon as a client is accepted; or a refusal, and the end
 *   client  open       asks for one version: the one that is served, or one by number and UUID
 *   daemon  opened     with descriptors: the volume, the state (state.h) and, if the daemon has opened the version, its
 *                      index and its record (opened/version_record.h); then the other members of the volume
 *   client  report     at any time after that, without an answer: what it read and what it found
 *   client  cache      asks for what the mount keeps of the volume on a drive of this machine
 *   daemon  cached     with descriptors: the table, and the file with the chunks; or a refusal
 *   client  hits       with a report: which slots of that file it read
 *
 * The daemon of another mount of the same user may ask for an index alone, which both then have in memory once:
 *
 *   client  borrow     tells which index
 *   daemon  lent       with the descriptors of the index and the version's record; or a refusal, if it has none open
 *
 * A message begins with its head and only grows at its end: a receiver ignores the part that it does not know. A new
 * protocol number is for messages that an older side would misread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/program/passing.h"

#define HANDOVER_MAGIC    0x48534644u /* "DFSH" */
#define HANDOVER_PROTOCOL 2u          /* the latest and the earliest protocol of this release */
#define HANDOVER_MAX      PASSING_MAX /* bytes of a message */
#define HANDOVER_FDS      PASSING_FDS /* most descriptors of a message */
#define HANDOVER_REASON   504u

enum handover_kind { HANDOVER_GREETING = 1, HANDOVER_OPEN, HANDOVER_OPENED, HANDOVER_REPORT, HANDOVER_BORROW,
		     HANDOVER_LENT, HANDOVER_CACHE, HANDOVER_CACHED, HANDOVER_HITS };

struct handover_head {
	uint32_t magic;
	uint16_t protocol; /* the latest that the sender speaks */
	uint16_t earliest; /* the earliest that the sender speaks */
	uint32_t kind;
	uint32_t size; /* of the message, this head included */
};

/* The beginning of the daemon's messages: code is 0, or a negative errno with its reason. */
struct handover_answer {
	struct handover_head head;
	int32_t code;
	uint32_t reserved;
	char reason[HANDOVER_REASON];
};

struct handover_greeting {
	struct handover_answer answer;
};

/* Asks for a version. device is the device number of the mountpoint as the client sees it, so that the daemon can check
 * that its own mount is meant. */
struct handover_open {
	struct handover_head head;
	uint32_t device_major, device_minor;
	uint64_t sequence; /* 0: the version that the mount serves; uuid is then ignored */
	uint8_t uuid[16];
};

/* The fixed descriptors. HANDOVER_VOLUME is the first member that is there. The other members follow the last of these,
 * in the order of their slots. */
enum handover_fd { HANDOVER_VOLUME, HANDOVER_STATE, HANDOVER_INDEX, HANDOVER_RECORD };
#define HANDOVER_MEMBERS (HANDOVER_FDS - HANDOVER_RECORD) /* most members that can be handed over */
#define HANDOVER_SLOTS   256u                             /* most members of a volume */

struct handover_opened {
	struct handover_answer answer;
	uint64_t key;    /* the version's key in the state; 0: the daemon has not opened it: no index and no record */
	uint64_t volume; /* the state's count of reopenings, taken before the volume was opened for this client */
	uint32_t slots;     /* slots of the volume, one for each member */
	uint32_t has_cache; /* 1: HANDOVER_CACHE asks for it */
	uint64_t missing_from[HANDOVER_SLOTS]; /* see struct member, as of now; 1: the member is not sent */
};

enum handover_count {
	HANDOVER_FILES,             /* reads that succeeded */
	HANDOVER_BYTES,             /* of contents */
	HANDOVER_CHECKSUM_FAILURES, /* also if a second read was right */
	HANDOVER_DEVICE_ERRORS,
	HANDOVER_READ_FAILURES,     /* failures that the caller saw */
	HANDOVER_FIRST_COUNTS,      /* the counts before this are in each report, the following ones may be missing */
	HANDOVER_DEVICE_READS = HANDOVER_FIRST_COUNTS, /* of the volume */
	HANDOVER_LOCAL_HITS,   /* reads that the cache on this machine had instead */
	HANDOVER_LOCAL_BYTES,  /* bytes of these reads */
	HANDOVER_LOCAL_ERRORS, /* failed reads of that cache */
	HANDOVER_COUNTS
};

/* Counts since the last report. */
struct handover_report {
	struct handover_head head;
	uint64_t counts[HANDOVER_COUNTS];
};
#define HANDOVER_REPORT_LEAST (offsetof(struct handover_report, counts) + HANDOVER_FIRST_COUNTS * sizeof(uint64_t))

struct handover_cache {
	struct handover_head head;
};

/* Both descriptors are open for reading alone; anything may be in the table. */
enum handover_cache_fd { HANDOVER_TABLE, HANDOVER_CHUNKS, HANDOVER_CACHE_FDS };

struct handover_cached {
	struct handover_answer answer;
};

#define HANDOVER_HIT_WORDS 504u

/* Slots that the client read since it last told. */
struct handover_hits {
	struct handover_head head;
	uint32_t at; /* the bits are those of the slots from 64 * at on */
	uint32_t reserved;
	uint64_t bits[HANDOVER_HIT_WORDS];
};

/* Asks for the index of a version. */
struct handover_borrow {
	struct handover_head head;
	uint64_t sequence;
	uint8_t uuid[16], volume_uuid[16];
};

enum handover_lent_fd { HANDOVER_LENT_INDEX, HANDOVER_LENT_RECORD, HANDOVER_LENT_FDS };

struct handover_lent {
	struct handover_answer answer;
};

/* Fills in the head of a message of size bytes. */
void handover_begin(struct handover_head *head, enum handover_kind kind, size_t size);
/* Makes an answer a refusal for this reason. */
void handover_refuse(struct handover_answer *answer, const struct error *why);
/* Checks that length bytes are a message of this kind with at least size bytes, from a side that speaks our protocol.
 * -EPROTO and -EPROTONOSUPPORT say what is wrong. */
must_check int handover_check(const void *message, size_t length, enum handover_kind kind, size_t size,
			      struct error *err);
/* Checks an answer like handover_check(). If it is a refusal, fails with the daemon's code and reason; a refusal may be
 * shorter than size. */
must_check int handover_check_answer(const void *message, size_t length, enum handover_kind kind, size_t size,
				     struct error *err);

/* Whether the descriptor of the member in this slot is sent. */
static inline bool handover_has(const struct handover_opened *opened, uint32_t slot)
{
	return opened->missing_from[slot] != 1;
}
