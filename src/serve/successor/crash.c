/* SPDX-License-Identifier: MIT */
/* Handles the signals of faults on a stack of its own, as a full stack may be the fault; then the signal ends the
 * process as it would have. */
#include "serve/successor/crash.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>

#include "base/hash.h"
#include "base/log.h"
#include "supervisor/keep.h"

static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGSYS };

#define CRASH_BYTES   1024 /* of a name or a command that tell it from others */
#define CRASH_UUID    16   /* bytes */
#define CRASH_SIGNALS (sizeof(crash_signals) / sizeof(*crash_signals))

static _Atomic(struct recovery *) crash_record;
static struct sigaction crash_former[CRASH_SIGNALS];
static __thread unsigned crash_hand; /* the number of the thread's hand and 1; 0: it has none */

/* Restores the former handling, under which the same fault, or the signal that is raised here, comes again. The
 * supervisor is told now, as the kernel may write a core file before anything of the process ends. */
static void crash_handle(int number)
{
	struct recovery *record = atomic_load(&crash_record);

	if (record && crash_hand)
		recovery_mark_crash(record, crash_hand - 1);
	keep_crash(number);
	for (size_t i = 0; i < CRASH_SIGNALS; i++)
		if (crash_signals[i] == number)
			sigaction(number, &crash_former[i], NULL);
	raise(number);
}

void crash_watch(struct recovery *record)
{
	struct sigaction action = { .sa_handler = crash_handle, .sa_flags = SA_ONSTACK };
	static bool is_set;

	atomic_store(&crash_record, record);
	for (size_t i = 0; i < CRASH_SIGNALS && !is_set; i++)
		sigaction(crash_signals[i], &action, &crash_former[i]);
	is_set = true;
}

void crash_name(unsigned hand)
{
	static __thread uint8_t stack[16384]; /* MINSIGSTKSZ is not constant any more */
	const stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };
	stack_t present;

	crash_hand = hand + 1;
	/* A sanitizer has given each thread a stack, and frees the one that it finds when the thread ends. */
	if (sigaltstack(NULL, &present) == 0 && present.ss_flags & SS_DISABLE)
		sigaltstack(&alternative, NULL);
}

static uint64_t crash_hash(const void *bytes, size_t length)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < length && i < CRASH_BYTES; i++)
		hash = hash_spread(hash ^ ((const uint8_t *)bytes)[i]);
	return hash;
}

/* A name, or the arguments of a command, stand in place of the offset and size that such a request does not have. */
static struct recovery_request crash_request(const struct request *wire)
{
	struct recovery_request request = { .unique = wire->unique, .nodeid = wire->nodeid, .opcode = wire->opcode };

	switch (wire->opcode) {
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
		request.offset = wire->in.read.offset;
		request.size = wire->in.read.size;
		break;
	case FUSE_LOOKUP:
	case FUSE_GETXATTR:
		request.offset = crash_hash(wire->name, wire->name_length);
		request.size = (uint32_t)wire->name_length;
		break;
	case FUSE_IOCTL:
		request.offset = crash_hash(wire->rest, wire->rest_length);
		request.size = wire->in.ioctl.cmd;
		break;
	default:
		break;
	}
	return request;
}

bool crash_begin(struct recovery *record, unsigned worker, const struct channel_request *request)
{
	const struct recovery_request now = crash_request(&request->wire);

	recovery_take(record, worker, &now);
	return !atomic_load_explicit(&record->crash_used, memory_order_relaxed) || !wire_wants_reply(now.opcode) ||
	       recovery_crashes(record, &now) < CRASH_MOST;
}

void crash_resume(struct recovery *record, unsigned worker, const struct channel_request *request)
{
	const struct recovery_request now = crash_request(&request->wire);

	recovery_take(record, worker, &now);
}

/* ---- work beside requests ---- */

static const struct recovery_request crash_duties = { .unique = 1, .opcode = CRASH_DUTIES };

int crash_begin_opening(struct recovery *record, unsigned hand, struct crash_version version,
			struct recovery_request *ret_former, struct error *err)
{
	const struct recovery_request now = { .unique = 1,
					      .opcode = CRASH_OPENING,
					      .nodeid = version.sequence,
					      .offset = crash_hash(version.uuid, CRASH_UUID) };

	if (recovery_crashes(record, &now) >= CRASH_MOST)
		return error_set(err, -EIO,
				 "version '%s' crashed the server %u times while it was opened: publish it "
				 "again",
				 version.label, CRASH_MOST);
	*ret_former = recovery_in_hand(record, hand);
	recovery_take(record, hand, &now);
	return 0;
}

void crash_return(struct recovery *record, unsigned hand, const struct recovery_request *former)
{
	if (former->unique)
		recovery_take(record, hand, former);
	else
		recovery_leave(record, hand);
}

void crash_begin_duties(struct recovery *record, unsigned hand)
{
	recovery_take(record, hand, &crash_duties);
}

bool crash_had_duties(const struct recovery *record)
{
	return recovery_crashes(record, &crash_duties);
}

void crash_tell(const char *mountpoint, const struct recovery_request *request, uint32_t times)
{
	bool is_refused = times >= CRASH_MOST;

	if (request->opcode == CRASH_OPENING)
		log_err("'%s': the server crashed while it opened the version of sequence %" PRIu64
			"%s, times=%" PRIu32,
			mountpoint, request->nodeid, is_refused ? ", which it does not open any more" : "", times);
	else if (request->opcode == CRASH_DUTIES)
		log_err("'%s': the server crashed while it looked at the volume, times=%" PRIu32, mountpoint, times);
	else
		log_err("'%s': the server crashed in the work on a request%s, node=%#" PRIx64 " opcode=%s "
			"offset=%" PRIu64 " size=%" PRIu32 " times=%" PRIu32,
			mountpoint, is_refused ? ", which is answered EIO from now on" : "", request->nodeid,
			wire_opcode_name(request->opcode), request->offset, request->size, times);
}
