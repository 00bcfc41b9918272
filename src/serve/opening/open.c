/* SPDX-License-Identifier: MIT */
/* Finds a version in the catalogue, checks that there is room for it, loads it, and puts it into the table. */
#include "serve/opening/open.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program/headroom.h"
#include "base/program/step.h"
#include "base/text/format.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/dump.h"
#include "image/sums/checksum_choose.h"
#include "serve/cache/cache_folder.h"
#include "serve/opening/mounted.h"
#include "serve/successor/crash.h"
#include "serve/successor/successor.h"

#define READER_BYTES 8192u /* memory of one worker's reader of a version */

static int open_choose(const struct serve *serve, const struct catalogue *catalogue, const struct open_target *target,
		       const struct version **ret, struct error *err)
{
	char uuid[UUID_TEXT_SIZE];

	if (target->is_selection && target->label)
		return catalogue_select(catalogue, target->label, ret, err);
	if (target->is_selection && target->digest)
		return catalogue_select_digest(catalogue, target->digest, serve->options.volume, ret, err);
	if (target->label && *target->label) {
		*ret = catalogue_by_label(catalogue, target->label);
		return *ret ? 0 : catalogue_refuse(catalogue, target->label, err);
	}
	if (target->uuid) {
		format_uuid(target->uuid, uuid);
		*ret = catalogue_by_uuid(catalogue, target->uuid);
		return *ret ? 0 : error_set(err, -ENOENT, "the volume has no version with the UUID %s", uuid);
	}
	*ret = catalogue_current(catalogue);
	return *ret ? 0 : error_set(err, -ENOENT, "the volume has no current version, choose one with version=");
}

/* A version to be loaded. */
struct open_load {
	const struct version *version;
	const struct catalogue *catalogue;
	const struct visitor *visitor; /* NULL: for a switch */
	struct opened_version lent;    /* by another mount of this machine: what need not be loaded */
};

/* Upper bound of the memory that an open version takes, in bytes. */
static uint64_t open_bytes(const struct serve *serve, const struct open_load *load)
{
	return (load->lent.index ? 0 : load->version->index.length) + block_sums_memory_most(load->version) +
	       (uint64_t)serve->worker_count * READER_BYTES;
}

/* others: bytes that a load on another thread may still take. */
static int open_check_room(struct serve *serve, const struct open_load *load, uint64_t others, struct error *err)
{
	unsigned spare = 0;
	int r = load->visitor ? visitor_check(load->visitor, &serve->generations, load->version, clock_now(), &spare,
					      err) : 0;

	if (r < 0)
		return r;
	return headroom_check(open_bytes(serve, load) + others, spare, err);
}

/* Warns once about the limits of a version's sums. */
static void open_tell_of_sums(struct serve *serve, const struct version *version)
{
	const char *proof = serve->options.has_digest ? "digest" : serve->options.trust.signers ? "signature" : NULL;
	bool is_sha256 = version->shape.chunk_sum == DSFS_SUM_SHA256;

	if (is_sha256 ? !checksum_choose_lacks_sha256() : !proof)
		return;
	if (atomic_exchange(&serve->history.told_of_sums, true))
		return;
	if (is_sha256)
		log_info("version '%s': this CPU has no instructions for SHA-256: verifying takes three times as long",
			 version->label);
	else
		log_info(TRUST_FORGEABLE, version->label, proof);
}

/* A good signature proves the digest in the catalogue, and the index has to have it. */
static int open_check_signed(struct serve *serve, const struct opened_version *opened, struct error *err)
{
	const struct version *version = &opened->version;

	return serve->options.trust.signers ? dump_check_digest(opened->index, version, version->digest, NULL, err) : 0;
}

static int open_make(struct serve *serve, const struct catalogue *catalogue, struct opened_version *opened,
		     struct generation **ret, struct error *err)
{
	int r = open_check_signed(serve, opened, err);

	opened->hidden_mode = serve->options.suid ? 0 : S_ISUID | S_ISGID;
	if (r == 0 && serve->options.has_digest)
		r = dump_check_digest(opened->index, &opened->version, serve->options.digest, catalogue, err);
	if (r == 0)
		r = generation_open(opened, ret, err);
	return r;
}

static int open_load_trusted(struct serve *serve, struct open_load *load, const struct trust_signer *signer,
			     struct generation **ret, struct error *err)
{
	const struct version *version = load->version;
	struct opened_version *opened = &load->lent;
	int r;

	step_of("version-loads", version->sequence);
	atomic_fetch_add(&serve->history.loads, 1);
	r = cache_folder_load(serve, version, &load->catalogue->members, opened, err);
	if (r == 0)
		r = open_make(serve, load->catalogue, opened, ret, err);
	opened_version_close(opened);
	if (r < 0)
		return r;
	(*ret)->signer = *signer;
	open_tell_of_sums(serve, version);
	return 0;
}

/* A version that crashes the server is refused from then on, whoever asks for it. */
static int open_load_index(struct serve *serve, struct open_load *load, struct generation **ret, struct error *err)
{
	const struct crash_version version = { load->version->label, load->version->sequence, load->version->uuid };
	unsigned hand = serve->worker_count + (load->visitor ? RECOVERY_VISITS : RECOVERY_CONTROL);
	struct recovery_request former;
	struct trust_signer signer;
	int r = trust_check(&serve->options.trust, load->version, serve->volume.uuid, &signer, err);

	if (r == 0)
		r = crash_begin_opening(serve->recovery, hand, version, &former, err);
	if (r < 0)
		return r;
	r = open_load_trusted(serve, load, &signer, ret, err);
	crash_return(serve->recovery, hand, &former);
	return r;
}

/* Keeps the version before its first name goes out. If another thread has opened it meanwhile, it is dropped again. */
static int open_add(struct serve *serve, struct generation **generation, const struct visitor *visitor,
		    struct error *err)
{
	uint64_t key = (*generation)->key;
	int r = successor_version(serve, *generation, err);

	if (r == 0)
		r = generations_add(&serve->generations, generation, visitor != NULL, err);
	if (r < 0 || (*generation)->key != key)
		successor_drop_descriptors(serve, key);
	return r;
}

static int open_load_new(struct serve *serve, struct open_load *load, struct generation **ret, struct error *err)
{
	const struct visitor *visitor = load->visitor;
	struct generation *generation;
	struct error why = { 0 };
	int r = open_load_index(serve, load, &generation, &why);

	if (r < 0 && visitor)
		visitor_remember(visitor, load->version, clock_now(), &why);
	if (r < 0)
		return error_pass(err, r, &why);
	generation->has_visitor = visitor && !visitor->may_switch;
	generation->visitor = visitor ? visitor->uid : 0;
	r = open_add(serve, &generation, visitor, err);
	if (r < 0) {
		generation_put(generation);
		return r;
	}
	serve_note_members(serve, &generation->opened.index->members);
	cache_folder_keep(serve, load->catalogue, generation);
	*ret = generation;
	return 0;
}

/* A visit and a command may load at the same time, each before the other has taken its memory, so each announces in
 * serve->loading how much it will take. */
static int open_load(struct serve *serve, const struct version *version, const struct catalogue *catalogue,
		     const struct visitor *visitor, struct generation **ret, struct error *err)
{
	struct open_load load = { version, catalogue, visitor, .lent = { .index = NULL } };
	uint64_t bytes, others;
	int r;

	cache_folder_borrow(serve, version, &catalogue->members, &load.lent);
	bytes = open_bytes(serve, &load);
	others = atomic_fetch_add(&serve->loading, bytes);
	r = open_check_room(serve, &load, others, err);
	if (r == 0)
		r = open_load_new(serve, &load, ret, err);
	atomic_fetch_sub(&serve->loading, bytes);
	opened_version_close(&load.lent);
	return r;
}

/* The open version with this UUID, or NULL. Compaction keeps the UUID, so there may be several: the latest counts. */
static struct generation *open_find(struct serve *serve, const uint8_t *uuid)
{
	struct generation *generation, *found = NULL;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (generation &&
		    !memcmp(generation->opened.version.uuid, uuid, sizeof(generation->opened.version.uuid)) &&
		    (!found || generation->sequence > found->sequence))
			found = generation;
	}
	return found;
}

static int open_refuse_number(const struct generation *undone, const struct version *version, struct error *err)
{
	return error_set(err, -ESTALE,
			 "version '%s' has the sequence of '%s', which was undone on the volume and is still in use "
			 "here: stop using it, or unmount and mount again",
			 version->label, undone->opened.version.label);
}

/* Closes an undone version whose sequence another version has now. Node numbers contain the sequence, so the kernel may
 * know only one of the two. */
static int open_make_way(struct serve *serve, struct generation *undone, const struct version *version,
			 struct error *err)
{
	bool was_prepared = serve->generations.prepared == undone;
	char label[sizeof(undone->opened.version.label)];

	memcpy(label, undone->opened.version.label, sizeof(label));
	if (undone == serve_current(serve) || !generations_remove(&serve->generations, undone))
		return open_refuse_number(undone, version, err);
	if (was_prepared)
		serve->generations.prepared = NULL;
	log_warn("version '%s' was undone on the volume and is closed", label);
	return 0;
}

/* A visit closes no version, so it fails, and gives up its pin. */
static int open_refuse_visitor(struct serve *serve, struct generation *undone, const struct version *version,
			       struct error *err)
{
	int r = open_refuse_number(undone, version, err);

	generations_unpin(&serve->generations, undone, false);
	return r;
}

/* Checks the signatures of a version that is open once more, as its key may have been revoked since. */
static int open_check_again(struct serve *serve, struct generation *generation, const struct visitor *visitor,
			    struct error *err)
{
	struct trust_signer signer;
	int r = trust_check(&serve->options.trust, &generation->opened.version, serve->volume.uuid, &signer, err);

	if (r < 0 && visitor)
		generations_unpin(&serve->generations, generation, false);
	return r;
}

/* Takes the version that the catalogue names, open or not. An open one that is no longer there comes second: if the
 * version was moved, its new place counts. */
static int open_take(struct serve *serve, const struct catalogue *catalogue, const struct open_target *target,
		     struct generation **ret, struct error *err)
{
	const struct version *version = NULL;
	struct generation *generation = NULL;
	int r;

	if (target->uuid && !catalogue_by_uuid(catalogue, target->uuid))
		generation = open_find(serve, target->uuid);
	if (!generation) {
		r = open_choose(serve, catalogue, target, &version, err);
		if (r < 0)
			return r;
		generation = generations_get(&serve->generations, version->sequence, target->visitor != NULL);
	}
	if (generation && version && !generation_is(generation, version)) {
		r = target->visitor ? open_refuse_visitor(serve, generation, version, err) :
				    open_make_way(serve, generation, version, err);
		if (r < 0)
			return r;
		generation = NULL;
	}
	if (!generation)
		return open_load(serve, version, catalogue, target->visitor, ret, err);
	r = open_check_again(serve, generation, target->visitor, err);
	if (r == 0)
		*ret = generation;
	return r;
}

/* *ret_super is also set on failure: the superblock whose catalogue was read, zeroed if none could be. */
static int open_try(struct serve *serve, const struct open_target *target, struct superblock *ret_super,
		    struct generation **ret, struct error *err)
{
	struct catalogue catalogue = { 0 };
	int r;

	r = mounted_read(serve, ret_super, &catalogue, err);
	if (r == 0)
		r = open_take(serve, &catalogue, target, ret, err);
	catalogue_free(&catalogue);
	return r;
}

/* The version may be removed or moved during the load, and its index overwritten. */
static int open_try_again(struct serve *serve, const struct open_target *target, struct superblock *ret_super,
			  struct generation **ret, struct error *err)
{
	int r;

	do
		r = open_try(serve, target, ret_super, ret, err);
	while (r == -EBADMSG && mounted_is_outdated(serve, ret_super));
	return r;
}

int open_version(struct serve *serve, const struct open_target *target, struct generation **ret, struct error *err)
{
	struct superblock super;

	return open_try_again(serve, target, &super, ret, err);
}

/* The open version with this label, pinned, or NULL. */
static struct generation *open_under(struct serve *serve, const char *label)
{
	struct generation *generation;

	pthread_mutex_lock(&serve->generations.lock);
	generation = generations_by_label(&serve->generations, label);
	if (generation)
		generations_pin_locked(generation);
	pthread_mutex_unlock(&serve->generations.lock);
	return generation;
}

int open_visit(struct serve *serve, const char *label, const struct visitor *visitor, struct generation **ret,
	       struct error *err)
{
	const struct open_target target = { .label = label, .visitor = visitor };
	struct generation *generation;
	struct superblock super;
	int r = open_try_again(serve, &target, &super, ret, err);

	/* An error is final if the newest superblock was read, or if the volume is another one. */
	if (r == 0 || mounted_is_other(serve, &super) || super.sequence >= atomic_load(&serve->volume.newest))
		return r;
	generation = open_under(serve, label);
	if (!generation)
		return r;
	*ret = generation;
	return 1;
}
