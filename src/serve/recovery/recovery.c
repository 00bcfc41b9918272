/* SPDX-License-Identifier: MIT */
/* Makes, checks and changes the record. The memory file is sealed, so that it cannot shrink under a mapping. */
#include "serve/recovery/recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory_file.h"
#include "base/program/step.h"
#include "serve/version/nodeid.h"

#define RECOVERY_SEALS       (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define RECOVERY_RESENT      (UINT64_C(1) << 63) /* FUSE_UNIQUE_RESEND: in the unique of a request that is sent again */
#define RECOVERY_THREADS_MAX (1u << 16)          /* a limit on workers and on slots of one */
#define RECOVERY_KEY_MAX     (UINT64_C(1) << 62) /* far more than a mount can open */

_Static_assert(sizeof(struct recovery_hand) == 64, "workers share cache lines");
_Static_assert(offsetof(struct recovery, members) % sizeof(uint64_t) == 0, "members are not aligned");
_Static_assert(sizeof(struct recovery_member) % sizeof(uint64_t) == 0, "a member does not end with a word");

/* Entries of versions are taken and freed under it. A successor begins with its own. */
static pthread_mutex_t recovery_lock = PTHREAD_MUTEX_INITIALIZER;

/* Empties a place before its other fields change. The processor's order does not matter for a thread that is killed,
 * but the compiler's does. */
static void recovery_empty(_Atomic uint64_t *mark)
{
	atomic_store(mark, 0);
	atomic_signal_fence(memory_order_seq_cst);
}

/* ---- making one ---- */

static int recovery_file(int *ret_fd, struct error *err)
{
	auto_close int fd = -1;
	int r = memory_file_make("datasetfs-record", sizeof(struct recovery), &fd, err);

	if (r < 0)
		return error_wrap(err, r, "the recovery record");
	if (fcntl(fd, F_ADD_SEALS, RECOVERY_SEALS) < 0)
		return error_errno(err, "cannot seal the recovery record");
	*ret_fd = take_fd(&fd);
	return 0;
}

static int recovery_map(int fd, struct recovery **ret, struct error *err)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	struct recovery *record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE, flags, fd, 0);

	if (record == MAP_FAILED)
		return error_errno(err, "cannot map the recovery record");
	*ret = record;
	return 0;
}

int recovery_new(struct recovery **ret, int *ret_fd, struct error *err)
{
	auto_close int fd = -1;
	struct recovery *record = NULL;
	int r = ret_fd ? recovery_file(&fd, err) : 0;

	if (r == 0)
		r = recovery_map(fd, &record, err);
	if (r < 0)
		return r;
	record->magic = RECOVERY_MAGIC;
	record->format = RECOVERY_FORMAT;
	record->size = sizeof(*record);
	atomic_store(&record->next_key, 1);
	if (ret_fd)
		*ret_fd = take_fd(&fd);
	*ret = record;
	return 0;
}

/* Copies words that other threads may be writing: whichever they find, a successor could find too if this server were
 * killed now. ThreadSanitizer would call it a race, as those threads write with plain stores. */
__attribute__((no_sanitize("thread"), noinline)) static void recovery_copy_words(const struct recovery *record,
										   struct recovery *copy, size_t size)
{
	const _Atomic uint64_t *from = (const void *)record;
	_Atomic uint64_t *to = (void *)copy;

	for (size_t i = 0; i < size / sizeof(*from); i++)
		atomic_store_explicit(&to[i], atomic_load_explicit(&from[i], memory_order_relaxed),
				      memory_order_relaxed);
}

/* Other threads change only single atomic fields, and versions, under the lock. */
int recovery_copy(const struct recovery *record, int *ret_fd, struct error *err)
{
	size_t size = offsetof(struct recovery, members) + record->member_count * sizeof(*record->members);
	auto_close int fd = -1;
	struct recovery *copy = NULL;
	int r = recovery_file(&fd, err);

	if (r == 0)
		r = recovery_map(fd, &copy, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&recovery_lock);
	recovery_copy_words(record, copy, size);
	pthread_mutex_unlock(&recovery_lock);
	recovery_close(copy);
	*ret_fd = take_fd(&fd);
	return 0;
}

void recovery_close(struct recovery *record)
{
	if (record)
		munmap(record, sizeof(*record));
}

/* ---- checking one ---- */

static int recovery_check_text(const char *what, const char *text, size_t size, bool may_be_empty, struct error *err)
{
	if (!memchr(text, 0, size))
		return error_set(err, -EPROTO, "recovery record: %s has no NUL in %zu bytes", what, size);
	if (!*text && !may_be_empty)
		return error_set(err, -EPROTO, "recovery record: %s is empty", what);
	return 0;
}

static int recovery_check_texts(const struct recovery *record, struct error *err)
{
	const struct {
		const char *what, *text;
		size_t size;
		bool may_be_empty;
	} texts[] = {
		{ "the volume", record->volume, sizeof(record->volume), false },
		{ "the mountpoint", record->mountpoint, sizeof(record->mountpoint), false },
		{ "the source", record->source, sizeof(record->source), false },
		{ "farewell_name", record->farewell_name, sizeof(record->farewell_name), true },
		{ "farewell_path", record->farewell_path, sizeof(record->farewell_path), true },
		{ "client_name", record->client_name, sizeof(record->client_name), true },
		{ "client_path", record->client_path, sizeof(record->client_path), true },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(*texts); i++)
		r = recovery_check_text(texts[i].what, texts[i].text, texts[i].size, texts[i].may_be_empty, err);
	return r;
}

static int recovery_check_numbers(const struct recovery *record, struct error *err)
{
	uint64_t crashed = atomic_load(&record->crashed);
	const struct {
		const char *what;
		uint64_t found, least, most;
	} numbers[] = {
		{ "device_major", record->device_major, 0, (1u << 12) - 1 },
		{ "device_minor", record->device_minor, 0, (1u << 20) - 1 },
		{ "noted", record->noted, 0, 1 },
		{ "started", (uint64_t)record->started, 0, (uint64_t)clock_now() },
		{ "init_ring", record->init_ring, 0, 1 },
		{ "init_resends", record->init_resends, 0, 1 },
		{ "workers", record->workers, 1, RECOVERY_THREADS_MAX },
		{ "slots", record->slots, 1, RECOVERY_THREADS_MAX },
		{ "the crashed worker", crashed & UINT32_MAX, crashed ? 1 : 0, RECOVERY_WORKERS },
		{ "next_key", atomic_load(&record->next_key), 1, RECOVERY_KEY_MAX },
		{ "crash_used", atomic_load(&record->crash_used), 0, RECOVERY_CRASHES },
		{ "served_now", atomic_load(&record->served_now), 0, 1 },
		{ "pointed_now", atomic_load(&record->pointed_now), 0, 1 },
		{ "member_count", record->member_count, 1, RECOVERY_MEMBERS },
		{ "reserved", record->reserved, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].found < numbers[i].least || numbers[i].found > numbers[i].most)
			return error_set(err, -EPROTO,
					 "recovery record: %s is %" PRIu64 ", expected %" PRIu64 " to %" PRIu64,
					 numbers[i].what, numbers[i].found, numbers[i].least, numbers[i].most);
	return 0;
}

static int recovery_check_members(const struct recovery *record, struct error *err)
{
	for (uint32_t i = 0; i < record->member_count; i++) {
		const struct recovery_member *member = &record->members[i];
		uint32_t now = atomic_load(&member->name_now);

		if (now > 2 || atomic_load(&member->is_lost) > 1)
			return error_set(err, -EPROTO,
					 "recovery record: member %" PRIu32 " has the marks %" PRIu32 " and %" PRIu32,
					 i, now, atomic_load(&member->is_lost));
		if (atomic_load(&member->silent_since) < 0 || atomic_load(&member->silent_since) > clock_now())
			return error_set(err, -EPROTO, "recovery record: member %" PRIu32 " is silent since %" PRId64,
					 i, atomic_load(&member->silent_since));
		if (now && !memchr(member->names[now - 1], 0, RECOVERY_PATH))
			return error_set(err, -EPROTO, "recovery record: the name of member %" PRIu32 " has no NUL", i);
	}
	return 0;
}

/* True if an entry before this one has its key or its sequence. */
static bool recovery_is_double(const struct recovery *record, const struct recovery_version *version)
{
	for (const struct recovery_version *other = record->versions; other < version; other++)
		if (atomic_load(&other->key) &&
		    (atomic_load(&other->key) == atomic_load(&version->key) || other->sequence == version->sequence))
			return true;
	return false;
}

static int recovery_check_opener(const struct recovery_version *version, struct error *err)
{
	const struct trust_signer *signer = &version->signer;

	if (version->has_visitor > 1)
		return error_set(err, -EPROTO, "recovery record: version %" PRIu64 " has_visitor=%" PRIu32,
				 atomic_load(&version->key), version->has_visitor);
	if (!memchr(signer->name, 0, sizeof(signer->name)) || !memchr(signer->key, 0, sizeof(signer->key)))
		return error_set(err, -EPROTO, "recovery record: the signer of version %" PRIu64 " has no NUL",
				 atomic_load(&version->key));
	return 0;
}

static int recovery_check_versions(const struct recovery *record, struct error *err)
{
	uint64_t next = atomic_load(&record->next_key);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < RECOVERY_VERSIONS; i++) {
		const struct recovery_version *version = &record->versions[i];
		uint64_t key = atomic_load(&version->key);

		if (!key)
			continue;
		if (key >= next || !version->sequence || recovery_is_double(record, version))
			return error_set(err, -EPROTO,
					 "recovery record: version %" PRIu64 " of sequence %" PRIu64
					 " is not below the next one, %" PRIu64 ", or there twice",
					 key, version->sequence, next);
		r = recovery_check_opener(version, err);
	}
	return r;
}

static int recovery_check_key(const struct recovery *record, const char *what, uint64_t key, struct error *err)
{
	if (recovery_find_version(record, key))
		return 0;
	return error_set(err, -EPROTO, "recovery record: the version that is %s, %" PRIu64 ", is not there", what, key);
}

/* Checks that fields about versions name open versions. */
static int recovery_check_keys(const struct recovery *record, struct error *err)
{
	uint64_t prepared = atomic_load(&record->prepared), unique, key;
	int r = recovery_check_key(record, "current", atomic_load(&record->current), err);

	if (r == 0)
		r = recovery_check_key(record, "served", recovery_served(record)->key, err);
	if (r == 0 && prepared)
		r = recovery_check_key(record, "prepared", prepared, err);
	if (r == 0 && atomic_load(&record->pending_unique) & RECOVERY_RESENT)
		r = error_set(err, -EPROTO, "recovery record: a command with the unique %#" PRIx64,
			      atomic_load(&record->pending_unique));
	if (r == 0 && recovery_pending(record, &unique, &key))
		r = recovery_check_key(record, "a command's", key, err);
	return r;
}

static bool recovery_result_is_good(const struct recovery *record, const struct recovery_result *result)
{
	const struct dsfs_switch *answer = &result->answer;
	uint64_t unique = atomic_load(&result->unique);

	return !(unique & RECOVERY_RESENT) && recovery_find_result(record, unique) == result && result->result <= 0 &&
	       result->result >= -4095 && !result->reserved && memchr(answer->label, 0, sizeof(answer->label)) &&
	       memchr(answer->if_current, 0, sizeof(answer->if_current)) &&
	       memchr(answer->reason, 0, sizeof(answer->reason));
}

static int recovery_check_results(const struct recovery *record, struct error *err)
{
	for (uint32_t i = 0; i < RECOVERY_RESULTS; i++) {
		const struct recovery_result *result = &record->results[i];

		if (atomic_load(&result->unique) && !recovery_result_is_good(record, result))
			return error_set(err, -EPROTO,
					 "recovery record: the result %" PRId32 " of command %#" PRIx64
					 " is wrong, or there twice",
					 result->result, atomic_load(&result->unique));
	}
	return 0;
}

static int recovery_check_crashes(const struct recovery *record, struct error *err)
{
	for (uint32_t i = 0; i < RECOVERY_CRASHES; i++) {
		uint64_t count = atomic_load(&record->crashes[i].count);

		if (count && !(uint32_t)count)
			return error_set(err, -EPROTO, "recovery record: request %" PRIu32 " is at fault no time", i);
	}
	return 0;
}

static int recovery_check_snapshots(const struct recovery *record, struct error *err)
{
	for (uint32_t i = 0; i < RECOVERY_SNAPSHOTS; i++) {
		uint64_t nodeid = atomic_load(&record->snapshots[i]);

		if (nodeid && (nodeid < NODE_SNAPSHOT || nodeid_sequence(nodeid) || nodeid & NODE_SIDE ||
			       nodeid % RECOVERY_SNAPSHOTS != i))
			return error_set(err, -EPROTO,
					 "recovery record: %#" PRIx64 " is no file of .datasetfs in slot %" PRIu32,
					 nodeid, i);
	}
	return 0;
}

int recovery_check(const struct recovery *record, struct error *err)
{
	int (*const checks[])(const struct recovery *, struct error *) = {
		recovery_check_texts,   recovery_check_numbers, recovery_check_members, recovery_check_versions,
		recovery_check_results, recovery_check_keys,    recovery_check_crashes, recovery_check_snapshots,
	};
	int r = 0;

	if (record->magic != RECOVERY_MAGIC || record->format != RECOVERY_FORMAT || record->size != sizeof(*record))
		return error_set(err, -EPROTO,
				 "recovery record: it begins with %#" PRIx64 ", has format %" PRIu32 " and %" PRIu32
				 " bytes, expected %#" PRIx64 ", %u and %zu",
				 record->magic, record->format, record->size, RECOVERY_MAGIC, RECOVERY_FORMAT,
				 sizeof(*record));
	for (size_t i = 0; r == 0 && i < sizeof(checks) / sizeof(*checks); i++)
		r = checks[i](record, err);
	return r;
}

/* Checks that the file is as long as this format's record and cannot change its size. */
static int recovery_check_file(int fd, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & RECOVERY_SEALS) != RECOVERY_SEALS)
		return error_set(err, -EPROTO, "recovery record: its seals are %#x, expected %#x",
				 seals < 0 ? 0 : seals, RECOVERY_SEALS);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "recovery record");
	if (st.st_size != sizeof(struct recovery))
		return error_set(err, -EPROTO, "recovery record: it has %lld bytes, expected %zu, another release's?",
				 (long long)st.st_size, sizeof(struct recovery));
	return 0;
}

int recovery_open(int fd, struct recovery **ret, struct error *err)
{
	struct recovery *record = NULL;
	int r = recovery_check_file(fd, err);

	if (r == 0)
		r = recovery_map(fd, &record, err);
	if (r < 0)
		return r;
	r = recovery_check(record, err);
	if (r < 0) {
		recovery_close(record);
		return r;
	}
	*ret = record;
	return 0;
}

/* ---- crashes ---- */

void recovery_mark_crash(struct recovery *record, unsigned worker)
{
	uint64_t none = 0, mark = (uint64_t)atomic_load(&record->incarnation) << 32 | (worker + 1);

	if (worker < RECOVERY_WORKERS)
		atomic_compare_exchange_strong(&record->crashed, &none, mark);
}

static bool recovery_crash_is(const struct recovery_crash *crash, const struct recovery_request *request)
{
	return atomic_load_explicit(&crash->count, memory_order_relaxed) && crash->nodeid == request->nodeid &&
	       crash->offset == request->offset && crash->opcode == request->opcode && crash->size == request->size;
}

uint32_t recovery_crashes(const struct recovery *record, const struct recovery_request *request)
{
	uint32_t used = atomic_load_explicit(&record->crash_used, memory_order_relaxed);

	for (uint32_t i = 0; i < used; i++)
		if (recovery_crash_is(&record->crashes[i], request))
			return (uint32_t)atomic_load(&record->crashes[i].count);
	return 0;
}

/* The place for another request: one that is free, else that of the request that was at fault longest ago. */
static struct recovery_crash *recovery_crash_place(struct recovery *record)
{
	struct recovery_crash *oldest = record->crashes;

	for (uint32_t i = 0; i < RECOVERY_CRASHES; i++) {
		struct recovery_crash *crash = &record->crashes[i];

		if (!atomic_load(&crash->count))
			return crash;
		if (atomic_load(&crash->count) >> 32 < atomic_load(&oldest->count) >> 32)
			oldest = crash;
	}
	return oldest;
}

static struct recovery_crash *recovery_crash_find(struct recovery *record, const struct recovery_request *request)
{
	struct recovery_crash *crash;

	for (uint32_t i = 0; i < RECOVERY_CRASHES; i++)
		if (recovery_crash_is(&record->crashes[i], request))
			return &record->crashes[i];
	crash = recovery_crash_place(record);
	recovery_empty(&crash->count);
	crash->nodeid = request->nodeid;
	crash->offset = request->offset;
	crash->opcode = request->opcode;
	crash->size = request->size;
	return crash;
}

/* Counts a crash once, even if this server is killed before it has removed the mark and the next one comes here. */
static uint32_t recovery_count_crash(struct recovery *record, uint32_t incarnation,
				     const struct recovery_request *request)
{
	struct recovery_crash *crash = recovery_crash_find(record, request);
	uint64_t count = atomic_load(&crash->count);
	uint32_t index = (uint32_t)(crash - record->crashes), times = (uint32_t)count;

	if (!count || count >> 32 != incarnation) {
		times += times < UINT32_MAX;
		atomic_store(&crash->count, (uint64_t)incarnation << 32 | times);
	}
	if (index >= atomic_load(&record->crash_used))
		atomic_store(&record->crash_used, index + 1);
	return times;
}

uint32_t recovery_take_over(struct recovery *record, uint32_t incarnation, struct recovery_request *ret)
{
	uint64_t crashed = atomic_load(&record->crashed);
	uint32_t times = 0;

	if (crashed)
		*ret = recovery_in_hand(record, (uint32_t)crashed - 1);
	if (crashed && ret->unique)
		times = recovery_count_crash(record, (uint32_t)(crashed >> 32), ret);
	atomic_store(&record->crashed, 0);
	for (uint32_t i = 0; i < RECOVERY_WORKERS && i < record->workers + RECOVERY_THREADS; i++)
		atomic_store(&record->hands[i].unique, 0);
	atomic_store(&record->incarnation, incarnation);
	return times;
}

/* ---- versions ---- */

const struct recovery_version *recovery_find_version(const struct recovery *record, uint64_t key)
{
	for (uint32_t i = 0; key && i < RECOVERY_VERSIONS; i++)
		if (atomic_load(&record->versions[i].key) == key)
			return &record->versions[i];
	return NULL;
}

static struct recovery_version *recovery_free_version(struct recovery *record)
{
	for (uint32_t i = 0; i < RECOVERY_VERSIONS; i++)
		if (!atomic_load(&record->versions[i].key))
			return &record->versions[i];
	return NULL;
}

static void recovery_write_version(const struct recovery_version *version, struct recovery_version *to)
{
	to->sequence = version->sequence;
	memcpy(to->uuid, version->uuid, sizeof(to->uuid));
	to->has_visitor = version->has_visitor;
	to->visitor = version->visitor;
	to->signer = version->signer;
	step("version-written");
	atomic_store(&to->key, atomic_load(&version->key));
}

int recovery_add_version(struct recovery *record, const struct recovery_version *version, struct error *err)
{
	uint64_t key = atomic_load(&version->key);
	struct recovery_version *to;

	pthread_mutex_lock(&recovery_lock);
	to = recovery_free_version(record);
	if (to) {
		if (atomic_load(&record->next_key) <= key)
			atomic_store(&record->next_key, key + 1);
		recovery_write_version(version, to);
	}
	pthread_mutex_unlock(&recovery_lock);
	return to ? 0 : error_set(err, -ENFILE, "%u versions are open", RECOVERY_VERSIONS);
}

void recovery_remove_version(struct recovery *record, uint64_t key)
{
	pthread_mutex_lock(&recovery_lock);
	for (uint32_t i = 0; key && i < RECOVERY_VERSIONS; i++)
		if (atomic_load(&record->versions[i].key) == key)
			atomic_store(&record->versions[i].key, 0);
	pthread_mutex_unlock(&recovery_lock);
}

void recovery_serve(struct recovery *record, const struct recovery_served *served)
{
	uint32_t other = !atomic_load(&record->served_now);

	record->served[other] = *served;
	atomic_store(&record->served_now, other);
}

const struct recovery_served *recovery_served(const struct recovery *record)
{
	return &record->served[atomic_load(&record->served_now)];
}

void recovery_set_pointed(struct recovery *record, const uint8_t uuid[16])
{
	uint32_t other = !atomic_load(&record->pointed_now);

	memcpy(record->pointed[other], uuid, sizeof(record->pointed[other]));
	atomic_store(&record->pointed_now, other);
}

const uint8_t *recovery_pointed(const struct recovery *record)
{
	return record->pointed[atomic_load(&record->pointed_now)];
}

/* ---- commands ---- */

void recovery_begin_command(struct recovery *record, uint64_t unique, uint64_t key)
{
	recovery_empty(&record->pending_unique);
	record->pending_key = key;
	atomic_store(&record->pending_unique, unique & ~RECOVERY_RESENT);
}

/* Writes a result over the oldest one. Its place is taken first: a server that is killed here leaves the place empty,
 * and no later result is lost for it. */
static void recovery_add_result(struct recovery *record, uint64_t unique, int result, const struct dsfs_switch *answer)
{
	struct recovery_result *place = &record->results[atomic_load(&record->result_count) % RECOVERY_RESULTS];

	recovery_empty(&place->unique);
	atomic_fetch_add(&record->result_count, 1);
	place->result = result;
	place->reserved = 0;
	place->answer = *answer;
	/* The caller may have sent labels without a NUL, which was an error, and nothing that a successor refuses. */
	place->answer.label[sizeof(answer->label) - 1] = 0;
	place->answer.if_current[sizeof(answer->if_current) - 1] = 0;
	place->answer.reason[sizeof(answer->reason) - 1] = 0;
	step("result-written");
	atomic_store(&place->unique, unique);
	step("result-counts");
}

void recovery_end_command(struct recovery *record, uint64_t unique, int result, const struct dsfs_switch *answer)
{
	unique &= ~RECOVERY_RESENT;
	if (!recovery_find_result(record, unique))
		recovery_add_result(record, unique, result, answer);
	if (atomic_load(&record->pending_unique) == unique)
		atomic_store(&record->pending_unique, 0);
}

bool recovery_pending(const struct recovery *record, uint64_t *ret_unique, uint64_t *ret_key)
{
	uint64_t unique = atomic_load(&record->pending_unique);

	if (!unique || recovery_find_result(record, unique))
		return false;
	*ret_unique = unique;
	*ret_key = record->pending_key;
	return true;
}

const struct recovery_result *recovery_find_result(const struct recovery *record, uint64_t unique)
{
	unique &= ~RECOVERY_RESENT;
	for (uint32_t i = 0; unique && i < RECOVERY_RESULTS; i++)
		if (atomic_load(&record->results[i].unique) == unique)
			return &record->results[i];
	return NULL;
}

/* ---- members ---- */

void recovery_set_member(struct recovery *record, uint32_t slot, const char *name)
{
	struct recovery_member *member = &record->members[slot];
	uint32_t other = atomic_load(&member->name_now) == 1 ? 2 : 1;

	if (*name)
		snprintf(member->names[other - 1], RECOVERY_PATH, "%s", name);
	atomic_store(&member->name_now, *name ? other : 0);
}

const char *recovery_member(const struct recovery *record, uint32_t slot)
{
	uint32_t now = atomic_load(&record->members[slot].name_now);

	return now ? record->members[slot].names[now - 1] : "";
}
