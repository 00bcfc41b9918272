/* SPDX-License-Identifier: MIT */
/* Turns data on the volume into a published version. */
#include "output/publish.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text/parse.h"
#include "image/sums/sha256.h"

int publish_check_label(const struct target *target, const char *label, struct error *err)
{
	int r;

	if (!label)
		return 0;
	r = version_check_label(label, err);
	if (r == 0 && catalogue_by_label(&target->transaction.catalogue, label))
		r = error_set(err, -EEXIST, "volume '%s' has a version '%s' already: give another --label, or none for "
			      "the next number", target->path, label);
	return r;
}

/* Sets the label to "v" and the version's number, or the next number that is free. */
static void publish_default_label(const struct target *target, struct version *version)
{
	uint64_t number = version->sequence;

	do
		snprintf(version->label, sizeof(version->label), "v%" PRIu64, number++);
	while (catalogue_by_label(&target->transaction.catalogue, version->label));
}

/* Returns the time of creation. A given UUID asks for reproducible bytes, so the clock is left out. */
static int publish_created(const struct pack_options *options, uint64_t *ret, struct error *err)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	int r = 0;

	if (epoch && *epoch) {
		r = parse_u64(epoch, 0, INT64_MAX, ret, err);
		if (r < 0)
			return error_wrap(err, r, "SOURCE_DATE_EPOCH");
	} else {
		*ret = options->has_uuid ? 0 : (uint64_t)time(NULL);
	}
	return r;
}

int publish_name(const struct target *target, const struct pack_options *options, struct version *version,
		 struct error *err)
{
	int r;

	version->sequence = target->transaction.catalogue.next_sequence;
	if (version->sequence > DSFS_SEQUENCE_MAX || target->transaction.catalogue.version_count >= DSFS_VERSIONS_MAX)
		return error_set(err, -E2BIG, "volume '%s' has had too many versions", target->path);
	r = publish_check_label(target, options->label, err);
	if (r < 0)
		return r;
	if (options->label)
		snprintf(version->label, sizeof(version->label), "%s", options->label);
	else
		publish_default_label(target, version);
	r = publish_created(options, &version->created, err);
	if (r == 0 && options->sign && !version->created)
		r = error_set(err, -EINVAL, "--sign with --uuid: a signature needs a date, set SOURCE_DATE_EPOCH");
	return r;
}

int publish_uuid(const struct target *target, struct version *version, struct error *err)
{
	dsfs_le64 sequence = dsfs_le64_of(version->sequence);
	uint8_t sum[SHA256_SIZE];
	struct sha256 *sha = sha256_new();
	int r;

	if (!sha)
		return error_no_memory(err);
	sha256_add(sha, target->transaction.super.volume_uuid, sizeof(target->transaction.super.volume_uuid));
	sha256_add(sha, &sequence, sizeof(sequence));
	sha256_add(sha, version->digest, sizeof(version->digest));
	r = sha256_end(sha, sum, err);
	sha256_free(sha);
	if (r < 0)
		return r;
	memcpy(version->uuid, sum, sizeof(version->uuid));
	version->uuid[6] = (version->uuid[6] & 0x0f) | 0x80; /* RFC 9562: version 8, the maker's own */
	version->uuid[8] = (version->uuid[8] & 0x3f) | 0x80;
	return 0;
}

int publish_run(struct target *target, struct writer *writer, struct version *version, bool make_current,
		struct progress *progress, struct error *err)
{
	struct transaction *transaction = &target->transaction;
	uint64_t sequence = version->sequence;
	int r;

	r = writer_finish(writer, progress, err);
	if (r == 0)
		r = allocator_segments(&transaction->allocator, &version->segments, err);
	if (r == 0)
		r = catalogue_append(&transaction->catalogue, version, err);
	if (r < 0)
		return r;
	transaction->catalogue.next_sequence = sequence + 1;
	if (make_current)
		transaction->catalogue.current = sequence;
	r = transaction_commit(transaction, err);
	return r < 0 ? r : target_finish(target, err);
}
