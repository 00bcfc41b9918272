/* SPDX-License-Identifier: MIT */
/* The text that a signature covers: a version's digest, label and date. datasetfs-volume(5), SIGNATURES, explains its
 * lines. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/span.h"
#include "image/catalogue/version.h"

#define STATEMENT_MAX       512u /* bytes of the text, with a NUL */
#define STATEMENT_DATE_SIZE CLOCK_DATE_SIZE
#define STATEMENT_DATE_MAX  UINT64_C(253402300799) /* the last second of the year 9999 */

struct statement {
	uint8_t digest[32];
	char sums[16]; /* kind of the sums of contents */
	bool has_block_sums;
	uint8_t block_sums[32];
	char label[DSFS_LABEL_MAX + 1];
	uint64_t created; /* seconds since the epoch, 1 to STATEMENT_DATE_MAX */
	bool any_volume;
	uint8_t volume[16]; /* UUID; zeros for any volume */
};

/* Makes the statement of a version. volume: UUID of its volume; NULL: the statement holds on any volume. -EINVAL: the
 * version has no date. */
must_check int statement_of(const struct version *version, const uint8_t *volume, struct statement *ret,
			    struct error *err);
/* Writes the text, NUL-terminated, and returns its length. */
size_t statement_write(const struct statement *statement, char text[STATEMENT_MAX]);
/* Accepts only the output of statement_write(); -EBADMSG has the reason. */
must_check int statement_parse(struct span text, struct statement *ret, struct error *err);
/* Checks that a statement is of this version on the volume with this UUID. -EKEYREJECTED says what differs. */
must_check int statement_check(const struct statement *statement, const struct version *version,
			       const uint8_t volume[16], struct error *err);
/* A version and the date that was signed; 0 without trust=. */
struct statement_dated {
	const char *label;
	uint64_t created;
};
/* Checks that a version that was not chosen by name is not older than the one that it would replace: an attacker who
 * can write the volume can make any version the current one. -EKEYREJECTED; back says how a user goes back. */
must_check int statement_check_date(struct statement_dated version, struct statement_dated former, const char *back,
				    struct error *err);
/* Formats a date of at most STATEMENT_DATE_MAX, in UTC, as RFC 3339 does, and returns text. */
const char *statement_date(uint64_t seconds, char text[STATEMENT_DATE_SIZE]);
