/* SPDX-License-Identifier: MIT */
/* Reads lists: lines, or OpenSSH's PROTOCOL.krl. Certificates sign nothing here, so their sections say nothing. */
#include "trust/revoked.h"

#include <errno.h>
#include <string.h>

#include "trust/keyline.h"
#include "trust/pubkey.h"
#include "trust/sshwire.h"

#define REVOKED_MAGIC "SSHKRL\n\0"

enum revoked_section {
	REVOKED_CERTIFICATES = 1,
	REVOKED_KEYS = 2,
	REVOKED_SHA1 = 3,
	REVOKED_SHA256 = 5,
};

static int revoked_bad(struct error *err)
{
	return error_set(err, -EINVAL, "the key revocation list is malformed, or of a newer kind");
}

/* Whether a section has these bytes as one of its fields. */
static int revoked_section_has(struct span section, struct span bytes, bool *ret, struct error *err)
{
	struct sshwire wire = { .rest = section };

	while (!sshwire_is_done(&wire)) {
		struct span field = sshwire_string(&wire);

		if (wire.failed)
			return revoked_bad(err);
		*ret |= field.size == bytes.size && !memcmp(field.base, bytes.base, bytes.size);
	}
	return 0;
}

static int revoked_section_has_sum(struct span section, const char *sum_name, size_t size, struct span key, bool *ret,
				   struct error *err)
{
	uint8_t sum[PUBKEY_SUM_MAX];
	int r = pubkey_sum(sum_name, key, sum, err);

	return r < 0 ? r : revoked_section_has(section, span_of(sum, size), ret, err);
}

static int revoked_section(uint64_t kind, struct span section, struct span key, bool *ret, struct error *err)
{
	switch (kind) {
	case REVOKED_CERTIFICATES:
		return 0;
	case REVOKED_KEYS:
		return revoked_section_has(section, key, ret, err);
	case REVOKED_SHA1:
		return revoked_section_has_sum(section, "SHA1", 20, key, ret, err);
	case REVOKED_SHA256:
		return revoked_section_has_sum(section, "SHA256", 32, key, ret, err);
	default:
		return revoked_bad(err);
	}
}

static int revoked_list(struct span file, struct span key, bool *ret, struct error *err)
{
	struct sshwire wire = { .rest = file };
	uint64_t format;
	int r = 0;

	(void)sshwire_bytes(&wire, 8);
	format = sshwire_number(&wire, 4);
	(void)sshwire_bytes(&wire, 24); /* its number, its date, flags */
	(void)sshwire_string(&wire);
	(void)sshwire_string(&wire); /* a comment */
	if (wire.failed || format != 1)
		return revoked_bad(err);
	while (r == 0 && !sshwire_is_done(&wire)) {
		uint64_t kind = sshwire_number(&wire, 1);
		struct span section = sshwire_string(&wire);

		r = wire.failed ? revoked_bad(err) : revoked_section(kind, section, key, ret, err);
	}
	return r;
}

static int revoked_lines(struct span file, struct span key, bool *ret, struct error *err)
{
	struct keyline line;
	unsigned number = 0;

	while (keyline_next(&file, &number, &line)) {
		if (!keyline_key(&line, keyline_word(&line)))
			return error_set(err, -EINVAL, "line %u is malformed, expected a public key", number);
		*ret |= keyline_is(&line, key);
	}
	return 0;
}

int revoked_has(struct span file, struct span key, bool *ret, struct error *err)
{
	const void *magic = span_at(file, 0, 8);

	*ret = false;
	return magic && !memcmp(magic, REVOKED_MAGIC, 8) ? revoked_list(file, key, ret, err) :
							   revoked_lines(file, key, ret, err);
}
