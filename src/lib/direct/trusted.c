/* SPDX-License-Identifier: MIT */
/* Reads the catalogue's record of a version that was handed over: the daemon is trusted neither with the signatures nor
 * with the sums. */
#include "lib/direct/trusted.h"

#include <errno.h>
#include <string.h>

#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"

int trusted_index(struct index *index, const struct version *version, const struct query *query, struct error *err)
{
	int r = query->trust.signers ? dump_check_digest(index, version, version->digest, NULL, err) : 0;

	return r == 0 && query->trust.signers ? index_load_count(index, version, err) : r;
}

/* Whether the daemon sent the facts of this record that programs see, and its block checksums, or none. */
static bool trusted_is_same(const struct version *handed, const struct version *version)
{
	if (strcmp(handed->label, version->label) != 0 || handed->created != version->created ||
	    handed->file_count != version->file_count || handed->content_bytes != version->content_bytes ||
	    memcmp(handed->digest, version->digest, sizeof(version->digest)) != 0)
		return false;
	return !handed->block_sums.length ||
	       (handed->block_sums.length == version->block_sums.length &&
		!memcmp(handed->block_sums.sha256, version->block_sums.sha256, sizeof(version->block_sums.sha256)));
}

static int trusted_compare(const struct catalogue *catalogue, struct link_version *got, const struct query *query,
			   struct error *err)
{
	const struct version *version = catalogue_by_sequence(catalogue, got->opened.version.sequence);
	struct trust_signer signer;
	int r;

	if (!version || memcmp(version->uuid, got->opened.version.uuid, sizeof(version->uuid)) != 0)
		return error_set(err, -EKEYREJECTED,
				 "version '%s' is not trusted: it is not on the volume any more, "
				 "where its signatures are",
				 got->opened.version.label);
	r = trust_check(&query->trust, version, catalogue->volume_uuid, &signer, err);
	if (r == 0)
		r = trusted_index(got->opened.index, version, query, err);
	if (r == 0 && !trusted_is_same(&got->opened.version, version))
		r = error_set(err, -EKEYREJECTED, "version '%s' is not trusted: the daemon has another record of it "
			      "than the volume", version->label);
	return r;
}

int trusted_handed(struct link_version *got, const struct query *query, struct error *err)
{
	struct catalogue catalogue = { 0 };
	struct superblock super = { 0 };
	int r;

	if (!query->trust.signers)
		return 0;
	r = catalogue_load(&got->volume->source, NULL, &super, &catalogue, err);
	if (r == 0)
		r = trusted_compare(&catalogue, got, query, err);
	catalogue_free(&catalogue);
	/* Nothing proves those that the daemon sent. */
	return r < 0 ? r : opened_version_load_sums(backing_of(&got->volume->source, &got->opened.index->members),
						    &got->opened, NULL, err);
}
