/* SPDX-License-Identifier: MIT */
/* Checks signatures before the index is loaded, and its digest afterwards: only both together prove it. */
#include "demands.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"

int demands_check(const struct demands *demands, struct error *err)
{
	return demands->trust.revoked && !demands->trust.signers ?
		       error_set(err, -EINVAL, "--revoked needs --trust, which says who may sign") : 0;
}

/* ---- those of a mount ---- */

static const char *demands_option(const struct reported *reported, const char *name)
{
	struct reported_field field;

	return reported_option_by_name(reported, name, &field) && *field.value ? field.value : NULL;
}

/* The mount would ask for these if it opened the version now. The texts belong to *ret_reported. */
static int demands_of_options(const char *mount, struct reported **ret_reported, struct demands *ret,
			      struct error *err)
{
	const char *digest;
	int r = reported_open(mount, ret_reported, err);

	if (r < 0)
		return r;
	ret->trust.signers = demands_option(*ret_reported, "trust");
	ret->trust.revoked = demands_option(*ret_reported, "revoked");
	digest = demands_option(*ret_reported, "digest");
	ret->has_digest = digest;
	return digest ? parse_digest(digest, ret->digest, err) : 0;
}

static int demands_of_mount(const struct volume *volume, const struct version *version, struct reported **ret_reported,
			    struct demands *ret, struct error *err)
{
	const struct reported_version *served = &volume->served;

	if (!volume->mount)
		return 0;
	if (!served->sequence)
		return error_set(err, -ENOENT, "'%s' does not say what it serves or trusts: name the volume itself",
				 volume->mount);
	if (served->sequence != version->sequence || memcmp(served->uuid, version->uuid, sizeof(version->uuid)) != 0)
		return demands_of_options(volume->mount, ret_reported, ret, err);
	ret->has_digest = true;
	memcpy(ret->digest, served->digest, sizeof(ret->digest));
	return 0;
}

/* ---- checks ---- */

static int demands_check_signed(const struct demands *demands, const struct volume *volume,
				const struct version *version, struct error *err)
{
	struct trust_signer signer;

	return trust_check(&demands->trust, version, volume->catalogue.volume_uuid, &signer, err);
}

static int demands_compare(const struct version *version, const uint8_t found[32], const uint8_t wanted[32],
			   const char *who, struct error *err)
{
	char found_text[DIGEST_TEXT_SIZE], wanted_text[DIGEST_TEXT_SIZE];

	if (!memcmp(found, wanted, 32))
		return 0;
	format_digest(found, found_text);
	format_digest(wanted, wanted_text);
	return error_set(err, -EBADMSG, "version '%s' has the digest %s on the volume, %s %s", version->label,
			 found_text, who, wanted_text);
}

static int demands_check_digest(const struct demands *demands, const struct version *version, const uint8_t found[32],
				const char *who, struct error *err)
{
	int r = demands->trust.signers ? demands_compare(version, found, version->digest, "what was signed has", err) :
					 0;

	return r == 0 && demands->has_digest ? demands_compare(version, found, demands->digest, who, err) : r;
}

static bool demands_any(const struct demands *demands)
{
	return demands->trust.signers || demands->has_digest;
}

static int demands_check_index(const struct demands *user, const struct demands *mount, struct index *index,
			       const struct version *version, struct error *err)
{
	uint8_t found[32];
	int r;

	if (!demands_any(user) && !demands_any(mount))
		return 0;
	r = dump_digest(index, found, err);
	if (r == 0)
		r = demands_check_digest(user, version, found, "expected", err);
	if (r == 0)
		r = demands_check_digest(mount, version, found, "the mount has", err);
	if (r == 0 && demands_any(user) && version->shape.chunk_sum != DSFS_SUM_SHA256)
		log_warn(TRUST_FORGEABLE, version->label, user->trust.signers ? "signature" : "digest");
	return r;
}

/* ---- the calls ---- */

int demands_load(const struct demands *demands, const struct volume *volume, const struct version *version,
		 struct index **ret, struct error *err)
{
	cleanup(reported_close_ptr) struct reported *reported = NULL;
	struct demands mount = { .has_digest = false };
	struct index *index = NULL;
	int r = demands_check(demands, err);

	if (r == 0)
		r = demands_of_mount(volume, version, &reported, &mount, err);
	if (r == 0)
		r = demands_check_signed(demands, volume, version, err);
	if (r == 0)
		r = demands_check_signed(&mount, volume, version, err);
	if (r == 0)
		r = index_load(volume_backing(volume), version, &index, err);
	if (r == 0)
		r = demands_check_index(demands, &mount, index, version, err);
	if (r < 0)
		index_close(index);
	else
		*ret = index;
	return r;
}

int demands_open(const struct demands *demands, const struct volume *volume, const char *label,
		 const struct version **ret_version, struct index **ret_index, struct error *err)
{
	const struct version *version = NULL;
	int r = volume_version(volume, label, &version, err);

	if (r == 0)
		r = demands_load(demands, volume, version, ret_index, err);
	if (r == 0)
		*ret_version = version;
	return r;
}
