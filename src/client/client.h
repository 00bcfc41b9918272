/* SPDX-License-Identifier: MIT */
/* The messages between the daemon of a mount and clients that read past it: packets of a SOCK_SEQPACKET socket, some
 * with descriptors. Daemon and client may be of different releases, and neither trusts a length that the other sends.
 *
 *   daemon  greeting   as soon as a client is accepted; or a refusal, and the end
 *   client  open       asks for one version: the one that is served, or one by number and UUID
 *   daemon  opened     with descriptors: the volume, the state (state.h) and, if the daemon has opened the version, its
 *                      index and its record (opened/version_record.h); then the other members of the volume
 *   client  report     at any time after that, without an answer: counts of reads and failures
 *   client  cache      asks for the mount's cache of the volume on a drive of this machine
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

#define CLIENT_MAGIC    0x48534644u /* "DFSH" */
#define CLIENT_PROTOCOL 2u          /* the latest and the earliest protocol of this release */
#define CLIENT_MAX      PASSING_MAX /* bytes of a message */
#define CLIENT_FDS      PASSING_FDS /* most descriptors of a message */
#define CLIENT_REASON   504u

enum client_kind {
	CLIENT_GREETING = 1,
	CLIENT_OPEN,
	CLIENT_OPENED,
	CLIENT_REPORT,
	CLIENT_BORROW,
	CLIENT_LENT,
	CLIENT_CACHE,
	CLIENT_CACHED,
	CLIENT_HITS
};

struct client_head {
	uint32_t magic;
	uint16_t protocol; /* the latest that the sender speaks */
	uint16_t earliest; /* the earliest that the sender speaks */
	uint32_t kind;
	uint32_t size; /* of the message, this head included */
};

/* The beginning of the daemon's messages: code is 0, or a negative errno with its reason. */
struct client_answer {
	struct client_head head;
	int32_t code;
	uint32_t reserved;
	char reason[CLIENT_REASON];
};

struct client_greeting {
	struct client_answer answer;
};

/* Asks for a version. device is the device number of the mountpoint as the client sees it, so that the daemon can check
 * that its own mount is meant. */
struct client_open {
	struct client_head head;
	uint32_t device_major, device_minor;
	uint64_t sequence; /* 0: the version that the mount serves; uuid is then ignored */
	uint8_t uuid[16];
};

/* The fixed descriptors. CLIENT_VOLUME is the first member that is there. The other members follow the last of these,
 * in the order of their slots. */
enum client_fd { CLIENT_VOLUME, CLIENT_STATE, CLIENT_INDEX, CLIENT_RECORD };
#define CLIENT_MEMBERS (CLIENT_FDS - CLIENT_RECORD) /* most members that can be handed over */
#define CLIENT_SLOTS   256u                         /* most members of a volume */

struct client_opened {
	struct client_answer answer;
	uint64_t key;    /* the version's key in the state; 0: the daemon has not opened it: no index and no record */
	uint64_t volume; /* the state's count of reopenings, taken before the volume was opened for this client */
	uint32_t slots;  /* slots of the volume, one for each member */
	uint32_t has_cache;                  /* 1: CLIENT_CACHE asks for it */
	uint64_t missing_from[CLIENT_SLOTS]; /* see struct member, as of now; 1: the member is not sent */
};

enum client_count {
	CLIENT_FILES,             /* reads that succeeded */
	CLIENT_BYTES,             /* of contents */
	CLIENT_CHECKSUM_FAILURES, /* also if a second read was right */
	CLIENT_DEVICE_ERRORS,
	CLIENT_READ_FAILURES, /* failures that the caller saw */
	CLIENT_FIRST_COUNTS,  /* the counts before this are in each report, the following ones may be missing */
	CLIENT_DEVICE_READS = CLIENT_FIRST_COUNTS, /* of the volume */
	CLIENT_LOCAL_HITS,                         /* reads that the cache on this machine had instead */
	CLIENT_LOCAL_BYTES,                        /* bytes of these reads */
	CLIENT_LOCAL_ERRORS,                       /* failed reads of that cache */
	CLIENT_COUNTS
};

/* Counts since the last report. */
struct client_report {
	struct client_head head;
	uint64_t counts[CLIENT_COUNTS];
};
#define CLIENT_REPORT_LEAST (offsetof(struct client_report, counts) + CLIENT_FIRST_COUNTS * sizeof(uint64_t))

struct client_cache {
	struct client_head head;
};

/* Both descriptors are open for reading alone; anything may be in the table. */
enum client_cache_fd { CLIENT_TABLE, CLIENT_CHUNKS, CLIENT_CACHE_FDS };

struct client_cached {
	struct client_answer answer;
};

#define CLIENT_HIT_WORDS 504u

/* Slots that the client read since it last told. */
struct client_hits {
	struct client_head head;
	uint32_t at; /* the bits are those of the slots from 64 * at on */
	uint32_t reserved;
	uint64_t bits[CLIENT_HIT_WORDS];
};

/* Asks for the index of a version. */
struct client_borrow {
	struct client_head head;
	uint64_t sequence;
	uint8_t uuid[16], volume_uuid[16];
};

enum client_lent_fd { CLIENT_LENT_INDEX, CLIENT_LENT_RECORD, CLIENT_LENT_FDS };

struct client_lent {
	struct client_answer answer;
};

/* Fills in the head of a message of size bytes. */
void client_begin(struct client_head *head, enum client_kind kind, size_t size);
/* Makes an answer a refusal for this reason. */
void client_refuse(struct client_answer *answer, const struct error *why);
/* Checks that length bytes are a message of this kind with at least size bytes, from a side that speaks our protocol.
 * -EPROTO and -EPROTONOSUPPORT say what is wrong. */
must_check int client_check(const void *message, size_t length, enum client_kind kind, size_t size, struct error *err);
/* Checks an answer like client_check(). If it is a refusal, fails with the daemon's code and reason; a refusal may be
 * shorter than size. */
must_check int client_check_answer(const void *message, size_t length, enum client_kind kind, size_t size,
				   struct error *err);

/* Whether the descriptor of the member in this slot is sent. */
static inline bool client_has(const struct client_opened *opened, uint32_t slot)
{
	return opened->missing_from[slot] != 1;
}
