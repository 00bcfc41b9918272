/* SPDX-License-Identifier: MIT */
/* The messages between the daemon of a mount and clients that read past it: packets of a SOCK_SEQPACKET socket, some
 * with descriptors. Daemon and client may be of different releases, and neither trusts a length that the other sends.
 *
 *   daemon  greeting   as soon as a client is accepted; or a refusal, and the end
 *   client  open       one version: the one that is served, or by number and UUID
 *   daemon  opened     its record; with the volume, the state (state.h), the index if it is open there, and of a
 *                      volume of several members the others that are there, and with the index their table
 *                      (table.h)
 *   client  report     at any time after that, without an answer: what it read and what it found
 *
 * A message begins with its head and only grows at its end: who gets a longer one than he knows ignores the rest. The
 * next protocol is one that an older side would misread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/version.h"

#define HANDOVER_MAGIC    0x48534644u /* "DFSH" */
#define HANDOVER_PROTOCOL 1u          /* the latest that is spoken here, and the earliest */
#define HANDOVER_MAX      4096u       /* bytes of a message */
#define HANDOVER_FDS      253u        /* of a message at most, as many as the kernel passes on */
#define HANDOVER_REASON   504u

enum handover_kind { HANDOVER_GREETING = 1, HANDOVER_OPEN, HANDOVER_OPENED, HANDOVER_REPORT };

struct handover_head {
	uint32_t magic;
	uint16_t protocol; /* the latest that the sender speaks */
	uint16_t earliest; /* and the earliest */
	uint32_t kind;
	uint32_t size; /* of the message, this head included */
};

/* Of the daemon's messages: 0, or a negative errno and why. */
struct handover_answer {
	struct handover_head head;
	int32_t code;
	uint32_t reserved;
	char reason[HANDOVER_REASON];
};

struct handover_greeting {
	struct handover_answer answer;
};

/* device: of the mountpoint as the client sees it, by which a daemon knows that it is meant. */
struct handover_open {
	struct handover_head head;
	uint32_t device_major, device_minor;
	uint64_t sequence; /* 0: of the version that the mount serves; then uuid means nothing */
	uint8_t uuid[16];
};

/* What a client has to know of a version, all of which a catalogue has as well. */
struct handover_version {
	char label[DSFS_LABEL_MAX + 1];
	uint8_t uuid[16], digest[32], block_sums_sha256[32];
	uint64_t sequence, created;
	uint64_t feature_compat, feature_incompat;
	uint32_t chunk_log, chunk_sum;
	uint64_t names_length, inode_count, chunk_count, class_count, blob_length, entry_count; /* struct index_shape */
	uint64_t index_length;
	uint64_t file_count, directory_count, symlink_count;
	uint64_t content_bytes, stored_bytes;
	uint64_t block_sums_address, block_sums_length;
	uint32_t hidden_mode; /* bits of modes that the mount does not show */
	uint32_t member_count;
	uint64_t member_size; /* of member 0 */
	uint8_t volume_uuid[16];
};

/* The first is that of the volume's first member that is there. After the last one that comes, the other members follow
 * in their order, and then the table, which comes with an index of several members. */
enum handover_fd { HANDOVER_VOLUME, HANDOVER_STATE, HANDOVER_INDEX };
#define HANDOVER_MEMBERS (HANDOVER_FDS - HANDOVER_INDEX - 1) /* that can be handed over */
#define HANDOVER_SLOTS   256u                                /* that a volume may have */

struct handover_opened {
	struct handover_answer answer;
	uint64_t key;    /* of the version in the state; 0: it is not open there, and no index comes */
	uint64_t volume; /* in the state, before the volume was opened for this client */
	struct handover_version version; /* with key alone */
	uint32_t slots;                    /* of the volume, one for each member */
	uint8_t there[HANDOVER_SLOTS / 8]; /* a bit for each whose member comes */
	uint32_t reserved;
};

enum handover_count {
	HANDOVER_FILES,             /* reads that succeeded */
	HANDOVER_BYTES,             /* of contents */
	HANDOVER_CHECKSUM_FAILURES, /* also when a second read was right */
	HANDOVER_DEVICE_ERRORS,
	HANDOVER_READ_FAILURES,     /* that the caller saw */
	HANDOVER_COUNTS
};

/* Since the last one. */
struct handover_report {
	struct handover_head head;
	uint64_t counts[HANDOVER_COUNTS];
};

/* Fills in the head of a message of so many bytes. */
void handover_begin(struct handover_head *head, enum handover_kind kind, size_t size);
/* Makes an answer a refusal for this reason. */
void handover_refuse(struct handover_answer *answer, const struct error *why);
/* Whether length bytes are such a message, of at least size bytes, of a side that speaks our protocol. -EPROTO and
 * -EPROTONOSUPPORT say what is wrong. */
must_check int handover_check(const void *message, size_t length, enum handover_kind kind, size_t size,
			      struct error *err);
/* The same of an answer, and that it is none that refuses: then the code and the reason are the daemon's. An answer
 * that refuses may be short. */
must_check int handover_check_answer(const void *message, size_t length, enum handover_kind kind, size_t size,
				     struct error *err);

/* Whether a member comes for this slot. */
static inline bool handover_has(const struct handover_opened *opened, uint32_t slot)
{
	return opened->there[slot / 8] >> slot % 8 & 1;
}

/* hidden_mode and volume_uuid are the caller's to set. */
void handover_put_version(const struct version *version, const struct index *index, struct handover_version *ret);
/* Everything that is used to find something in the index or on the volume is checked. Of its lists it has that of
 * the block checksums: version_free() it. */
must_check int handover_get_version(const struct handover_version *from, struct version *ret, struct error *err);
