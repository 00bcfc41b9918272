/* SPDX-License-Identifier: MIT */
/* The recovery record: all that a server of a mount leaves to its successor beside descriptors, in one struct in a
 * memory file.
 *
 * A server may be killed between any two stores, and its successor goes on from there. So each change takes
 * effect with one store of an atomic field, which comes last; whatever has two parts lies in two copies, and a number
 * says which one counts. A switch takes these steps:
 *
 *   recovery_add_version()    when the version's descriptors are kept already; they go after recovery_remove_version()
 *   recovery_begin_command()  all checks have passed, --if-current among them: from here on the switch goes forward
 *   current = new           before the first name is answered from it
 *   recovery_serve()          the kernel knows of the switch, and it counts; until then current differs from served
 *   recovery_end_command()    the result, before the answer goes to the kernel
 *
 * A successor that finds current different from served announces current again and finishes. If it finds a command with
 * recovery_pending(), it finishes that, whether or not the kernel sends the request again; if the request comes again
 * later, recovery_find_result() has the answer. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "datasetfs/control.h"
#include "trust/trust.h"

#define RECOVERY_MAGIC    UINT64_C(0x4443455253465344) /* "DSFSRECD" */
#ifndef RECOVERY_FORMAT /* a test has its own */
#define RECOVERY_FORMAT   3u
#endif
#define RECOVERY_PATH     4096u /* bytes of a path, including its NUL */
#define RECOVERY_MEMBERS  256u
#define RECOVERY_VERSIONS 256u /* as GENERATIONS_MAX */
#define RECOVERY_RESULTS  64u  /* a power of two */
#define RECOVERY_WORKERS  1024u
#define RECOVERY_CRASHES  64u
#define RECOVERY_SNAPSHOTS 1024u /* as SNAPSHOTS_MAX */

/* The threads beside the workers that work on requests. Their hands come after those of the workers. */
enum recovery_thread { RECOVERY_CONTROL, RECOVERY_VISITS, RECOVERY_THREADS };

/* A request, as far as it identifies a worker's work. */
struct recovery_request {
	uint64_t unique, nodeid, offset;
	uint32_t opcode, size;
};

struct recovery_version {
	_Atomic uint64_t key; /* 0: the entry is free; written last by recovery_add_version() */
	uint64_t sequence;
	uint8_t uuid[16];
	uint32_t has_visitor, visitor; /* see struct generation, also for signer */
	struct trust_signer signer;
};

/* The version that the kernel knows as the mount's, and the history that changes with it. */
struct recovery_served {
	uint64_t key;
	uint64_t switches;
	uint64_t serving_since, outdated_until; /* seconds since 1970, as in struct serve_history */
};

struct recovery_result {
	_Atomic uint64_t unique; /* of the request, without bit 63; 0: none; written last */
	int32_t result;          /* 0 or a negative errno */
	uint32_t reserved;       /* 0 */
	struct dsfs_switch answer;
};

struct recovery_hand {
	_Alignas(64) _Atomic uint64_t unique; /* of the request in the worker's hand; 0: none */
	uint64_t nodeid, offset;
	uint32_t opcode, size;
};

struct recovery_crash {
	_Atomic uint64_t count; /* upper half: which server crashed last; lower half: how often; 0: the entry is free */
	uint64_t nodeid, offset;
	uint32_t opcode, size;
};

struct recovery_member {
	_Atomic uint32_t name_now; /* 0: it was never found; else 1 + its index in names; recovery_set_member() */
	_Atomic uint32_t is_lost;  /* 0 or 1; any thread that sets serve_member.is_lost */
	_Atomic int64_t silent_since; /* ns, CLOCK_MONOTONIC, see struct file_source; readers of the volume */
	char names[2][RECOVERY_PATH];
};

/* "Setup": written once by the first server, before it has the record kept. The page is zero at first. */
struct recovery {
	uint64_t magic;  /* RECOVERY_MAGIC; recovery_new() */
	uint32_t format; /* RECOVERY_FORMAT; a server refuses any other; recovery_new() */
	uint32_t size;   /* of this struct; recovery_new() */

	/* The mount. */
	uint32_t owner;         /* uid of the mounting user; setup */
	uint32_t control_group; /* numbers of the options' groups, which names could stand for others by now; setup */
	uint32_t direct_group;
	uint32_t device_major;  /* of the filesystem; setup */
	uint32_t device_minor;
	uint32_t noted;         /* 0 or 1: the mount stands in utab, see mount_note(); setup */
	int64_t started;        /* time of the mount, ns, CLOCK_MONOTONIC; setup */
	uint8_t volume_uuid[16]; /* setup */
	uint64_t opened;         /* sequence of the superblock at the mount; setup */
	_Atomic uint64_t newest; /* highest superblock sequence seen; any thread that sees it */

	/* The connection: what INIT agreed on, as in struct init, and the first server's threads. */
	uint64_t init_offered, init_taken; /* setup */
	uint32_t init_minor;
	uint32_t init_ring;    /* 0 or 1 */
	uint32_t init_resends; /* 0 or 1 */
	uint32_t workers;      /* of the server that had the most; at least 1; before they run */
	uint32_t slots;        /* of a worker on /dev/fuse; at least 1; setup */

	/* The server. */
	_Atomic uint32_t incarnation; /* how many servers there were before; recovery_take_over() */
	_Atomic uint64_t crashed;     /* upper half: incarnation, lower: worker + 1; 0: none; recovery_mark_crash() */
	_Atomic uint32_t crash_used;  /* entries of crashes that count, from the first one on; recovery_take_over() */

	/* Numbers that never begin again. */
	_Atomic uint64_t next_key;       /* greater than every key; recovery_add_version() */
	_Atomic uint64_t snapshots_made; /* files made below .datasetfs; serve/dotdir/snapshots */

	/* Versions. The control thread writes all of these but the keys of versions. */
	_Atomic uint64_t current;    /* key of the version that answers names in the root */
	_Atomic uint64_t prepared;   /* key of the one that is kept open for a switch; 0: none */
	_Atomic uint32_t served_now; /* index of the served that counts; recovery_serve() */
	_Atomic uint32_t pointed_now;
	struct recovery_served served[2];
	uint8_t pointed[2][16]; /* UUID of the volume's current version that was handled last; recovery_set_pointed() */

	/* Commands; the control thread. */
	_Atomic uint64_t pending_unique; /* of the command that is being carried out, without bit 63; 0: none */
	uint64_t pending_key;            /* the version that it leads to */
	_Atomic uint64_t result_count;   /* results begun; modulo RECOVERY_RESULTS it is the next place */

	/* Names of the mount, and of its sockets; setup. */
	char volume[RECOVERY_PATH], mountpoint[RECOVERY_PATH], source[RECOVERY_PATH];
	char farewell_name[72], farewell_path[108]; /* as in struct rendezvous; "": none */
	char client_name[72], client_path[108];

	struct recovery_version versions[RECOVERY_VERSIONS];
	struct recovery_result results[RECOVERY_RESULTS];
	struct recovery_crash crashes[RECOVERY_CRASHES]; /* requests at which a server crashed; recovery_take_over() */
	/* By slot, the node number of the file of .datasetfs that the kernel may know there; serve/dotdir/snapshots. */
	_Atomic uint64_t snapshots[RECOVERY_SNAPSHOTS];
	/* By worker, then recovery_thread; recovery_take(), recovery_leave(). */
	struct recovery_hand hands[RECOVERY_WORKERS];

	_Atomic uint32_t member_count; /* setup, then successor_widen(); pages of members beyond are never touched */
	uint32_t reserved;
	struct recovery_member members[RECOVERY_MEMBERS]; /* by slot */
};

/* Makes an empty record. *ret_fd is for the supervisor: the caller's, close-on-exec; ret_fd NULL: no successor will
 * take the record over, so it needs no file. */
must_check int recovery_new(struct recovery **ret, int *ret_fd, struct error *err);
/* Maps the record of a predecessor, and checks it. The caller keeps the descriptor. -EPROTO: it is of another format,
 * or wrong. */
must_check int recovery_open(int fd, struct recovery **ret, struct error *err);
/* Makes a copy as a successor could find the record now, in a file of its own: close-on-exec. Control thread. */
must_check int recovery_copy(const struct recovery *record, int *ret_fd, struct error *err);
void recovery_close(struct recovery *record); /* NULL is allowed */
/* Checks that the record is complete and every function may be called with it; recovery_open() does that. */
must_check int recovery_check(const struct recovery *record, struct error *err);

/* Begins a server: counts the request at which the last one crashed, if one is marked, empties all hands, and sets the
 * incarnation, which must be greater than the last one's. Call it before workers run. Returns how often that request
 * was at fault, and sets *ret; 0: no crash, or no request. */
uint32_t recovery_take_over(struct recovery *record, uint32_t incarnation, struct recovery_request *ret);
/* Marks that the calling worker crashed. Async-signal-safe. */
void recovery_mark_crash(struct recovery *record, unsigned worker);
/* Returns in how many crashes this request was in hand, whatever its unique. Any thread. */
uint32_t recovery_crashes(const struct recovery *record, const struct recovery_request *request);

/* Notes a request that a worker begins to handle. Workers beyond RECOVERY_WORKERS have no place. */
static inline void recovery_take(struct recovery *record, unsigned worker, const struct recovery_request *request)
{
	struct recovery_hand *hand;

	if (worker >= RECOVERY_WORKERS)
		return;
	hand = &record->hands[worker];
	hand->nodeid = request->nodeid;
	hand->offset = request->offset;
	hand->opcode = request->opcode;
	hand->size = request->size;
	atomic_store_explicit(&hand->unique, request->unique, memory_order_release);
}

/* Notes that the worker's request is answered, or waits for a device or another thread. */
static inline void recovery_leave(struct recovery *record, unsigned worker)
{
	if (worker < RECOVERY_WORKERS)
		atomic_store_explicit(&record->hands[worker].unique, 0, memory_order_release);
}

/* The request in a hand of the calling thread; unique 0: none. */
static inline struct recovery_request recovery_in_hand(const struct recovery *record, unsigned worker)
{
	const struct recovery_hand *hand = &record->hands[worker % RECOVERY_WORKERS];
	struct recovery_request request = { 0 };

	if (worker < RECOVERY_WORKERS && atomic_load_explicit(&hand->unique, memory_order_relaxed))
		request = (struct recovery_request){ .unique = hand->unique, .nodeid = hand->nodeid,
						   .offset = hand->offset, .opcode = hand->opcode, .size = hand->size };
	return request;
}

/* The number of the request in a hand; 0: none. Any thread. */
static inline uint64_t recovery_hand_unique(const struct recovery *record, unsigned worker)
{
	return worker < RECOVERY_WORKERS ? atomic_load(&record->hands[worker].unique) : 0;
}

/* Adds an open version, with a new key and a sequence that no other one has. Any thread. -ENFILE: there are
 * RECOVERY_VERSIONS already. */
must_check int recovery_add_version(struct recovery *record, const struct recovery_version *version, struct error *err);
/* Removes a version, which is neither current, served, prepared, nor a pending command's. Any thread. */
void recovery_remove_version(struct recovery *record, uint64_t key);
const struct recovery_version *recovery_find_version(const struct recovery *record, uint64_t key); /* NULL: none */

/* Sets the versions that are served, in one step. Control thread. */
void recovery_serve(struct recovery *record, const struct recovery_served *served);
const struct recovery_served *recovery_served(const struct recovery *record);
void recovery_set_pointed(struct recovery *record, const uint8_t uuid[16]); /* control thread */
const uint8_t *recovery_pointed(const struct recovery *record);             /* 16 bytes */

/* Notes the command that leads to this version. Control thread. */
void recovery_begin_command(struct recovery *record, uint64_t unique, uint64_t key);
/* Notes the result of a command, whether or not it was begun; of one that has a result already the first one stays.
 * Control thread. */
void recovery_end_command(struct recovery *record, uint64_t unique, int result, const struct dsfs_switch *answer);
/* The command that was begun and has no result, or false. */
bool recovery_pending(const struct recovery *record, uint64_t *ret_unique, uint64_t *ret_key);
/* Returns the result of a command, or NULL. Bit 63 of unique, the kernel's mark of requests that it sends again, does
 * not count. Control thread, or before it runs. */
const struct recovery_result *recovery_find_result(const struct recovery *record, uint64_t unique);

/* Sets the name by which a member was found, in one step; "": it was never found. One thread at a time. */
void recovery_set_member(struct recovery *record, uint32_t slot, const char *name);
const char *recovery_member(const struct recovery *record, uint32_t slot); /* "": it was never found */
