/* SPDX-License-Identifier: MIT */
/* Decodes requests of the FUSE wire protocol. A pure function of its input, which it does not trust.
 *
 * Structures and numbers come from <linux/fuse.h>, which in Debian 12 is that of protocol 7.38 (Linux 6.1). Newer ones
 * that we need are defined here, with their numbers and names from the kernel's include/uapi/linux/fuse.h (7.45, Linux
 * 6.18). The kernel never changes or reuses one. */
#pragma once
#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define WIRE_MINOR 45 /* the newest protocol that we know: 7.45 */

#if FUSE_KERNEL_MINOR_VERSION < 39
#define FUSE_STATX 52 /* 7.39 */
#endif
#if FUSE_KERNEL_MINOR_VERSION < 45
#define FUSE_COPY_FILE_RANGE_64 53 /* 7.45 */
#endif

#define WIRE_NOTIFY_RESEND    7 /* FUSE_NOTIFY_RESEND, 7.40 (Linux 6.9) */
#define WIRE_NOTIFY_INC_EPOCH 8 /* FUSE_NOTIFY_INC_EPOCH, 7.44 (Linux 6.16) */
#define WIRE_NOTIFY_PRUNE     9 /* FUSE_NOTIFY_PRUNE, 7.45 (Linux 6.18) */

struct wire_notify_prune { /* fuse_notify_prune_out; count nodes follow */
	uint32_t count;
	uint32_t padding;
	uint64_t spare;
};
_Static_assert(sizeof(struct wire_notify_prune) == 16, "fuse_notify_prune_out");

#define WIRE_ALLOW_IDMAP   (UINT64_C(1) << 40) /* FUSE_ALLOW_IDMAP (7.41), an INIT flag: see init.h */
#define WIRE_HAS_RESEND    (UINT64_C(1) << 39) /* FUSE_HAS_RESEND, an INIT flag: the kernel knows WIRE_NOTIFY_RESEND */
#define WIRE_UNIQUE_RESEND (UINT64_C(1) << 63) /* FUSE_UNIQUE_RESEND, in the number of a request that comes again */

/* FUSE over io_uring, 7.42 (Linux 6.14): an entry of a queue is a header and a payload in the daemon's memory. */
#define WIRE_OVER_IO_URING       (UINT64_C(1) << 41) /* FUSE_OVER_IO_URING, an INIT flag */
#define WIRE_URING_REGISTER      1u                  /* FUSE_IO_URING_CMD_REGISTER */
#define WIRE_URING_COMMIT_FETCH  2u                  /* FUSE_IO_URING_CMD_COMMIT_AND_FETCH */

struct wire_uring_header { /* fuse_uring_req_header */
	uint8_t in_out[128]; /* fuse_in_header down, fuse_out_header up */
	uint8_t op_in[128];  /* the request's first argument */
	uint64_t flags;      /* from here: fuse_uring_ent_in_out */
	uint64_t commit_id;
	uint32_t payload_size;
	uint32_t padding;
	uint64_t reserved;
};
_Static_assert(sizeof(struct wire_uring_header) == 288, "fuse_uring_req_header");

struct wire_uring_command { /* fuse_uring_cmd_req, the argument of both commands */
	uint64_t flags;
	uint64_t commit_id;
	uint16_t queue;
	uint8_t padding[6];
};
_Static_assert(sizeof(struct wire_uring_command) == 24, "fuse_uring_cmd_req");

#define WIRE_OPCODES 64 /* all opcodes with a name and a handler are below it */

/* A decoded request. name and rest point into its bytes. */
struct request {
	uint32_t opcode;
	uint64_t unique, nodeid;
	uint32_t uid, gid, pid;
	union {
		struct fuse_init_in init;
		struct fuse_forget_in forget;
		struct fuse_batch_forget_in batch_forget;
		struct fuse_getattr_in getattr;
		struct fuse_read_in read;         /* READ, READDIR, READDIRPLUS */
		struct fuse_getxattr_in getxattr; /* GETXATTR and LISTXATTR */
		struct fuse_lseek_in lseek;
		struct fuse_interrupt_in interrupt;
		struct fuse_ioctl_in ioctl;
	} in;
	const char *name;    /* NUL-terminated, of LOOKUP and GETXATTR */
	size_t name_length;  /* without the NUL, at least 1 */
	const uint8_t *rest; /* the bytes after the argument */
	size_t rest_length;
};

/* Decodes a request. -EBADMSG: it is shorter than its own length or its opcode's argument, a name has no NUL, or a
 * count does not fit. */
must_check int wire_parse(const void *bytes, size_t length, struct request *ret, struct error *err);
/* Decodes a request from io_uring: header and first argument are in the entry's header, the rest in its payload. It is
 * assembled in bytes, which has room bytes of space and which *ret points into. */
must_check int wire_parse_uring(const struct wire_uring_header *header, struct span payload, uint8_t *bytes,
				size_t room, struct request *ret, struct error *err);
/* Returns element i of BATCH_FORGET; i must be below in.batch_forget.count. */
struct fuse_forget_one wire_forget(const struct request *request, uint32_t i);
/* Returns false for requests that the kernel expects no answer to. */
bool wire_wants_reply(uint32_t opcode);
/* Returns "LOOKUP" and so on; "OTHER" for opcodes without a name. */
const char *wire_opcode_name(uint32_t opcode);
