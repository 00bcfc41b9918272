/* SPDX-License-Identifier: MIT */
/* Catalogue, superblock slot and publisher record of a volume that is changed. */
#include "volume/commit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "image/address.h"
#include "image/sha256.h"

/* What is read back after the flush comes from the medium. */
static int commit_write(struct source *source, uint64_t offset, const uint8_t *bytes, uint64_t length,
			struct error *err)
{
	auto_free uint8_t *found = aligned_alloc(DSFS_BLOCK, length);
	int r;

	if (!found)
		return error_set(err, -ENOMEM, "out of memory");
	r = source_write(source, 0, offset, bytes, length, err);
	if (r == 0)
		r = source_flush(source, err);
	if (r == 0)
		r = source_read(source, 0, offset, found, length, err);
	if (r == 0 && memcmp(found, bytes, length) != 0)
		r = error_set(err, -EIO,
			      "read back at offset %" PRIu64 ": %" PRIu64 " bytes are not what was written, the device is "
			      "not to be trusted",
			      offset, length);
	return r;
}

/* The size on the volume is known before the tail is, which is a field of it. */
int commit_catalogue(struct source *source, struct space *space, struct catalogue *catalogue,
		     struct superblock *super, struct error *err)
{
	auto_free uint8_t *draft = NULL;
	auto_free uint8_t *bytes = NULL;
	uint64_t length, offset;
	int r;

	r = catalogue_encode(catalogue, &draft, &length, err);
	if (r < 0)
		return r;
	if (!space_take_catalogue(space, length, &offset))
		return error_set(err, -ENOSPC, "volume is full: no room for a catalogue of %" PRIu64 " bytes", length);
	catalogue->tail = space_tail(space);
	r = catalogue_encode(catalogue, &bytes, &length, err);
	if (r == 0)
		r = commit_write(source, offset, bytes, length, err);
	if (r == -ENOSPC)
		return error_set(err, r, "volume is full: no room for a catalogue of %" PRIu64 " bytes", length);
	if (r == 0)
		r = sha256_of(bytes, length, super->catalogue_sha256, err);
	if (r < 0)
		return r;
	super->catalogue_address = address_make(0, offset);
	super->catalogue_length = length;
	return 0;
}

int commit_slot(struct commit *commit, struct source *source, struct superblock *super, struct error *err)
{
	struct superblock found;
	int r;

	super->sequence++;
	commit->slot_offset = super->sequence % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING;
	r = source_read(source, 0, commit->slot_offset, commit->former_slot, sizeof(commit->former_slot), err);
	if (r < 0)
		return r;
	commit->slot_written = true;
	r = superblock_write(source, super, err);
	if (r == 0)
		r = source_flush(source, err);
	if (r == 0)
		r = superblock_find(source, &found, err);
	if (r == 0 && found.sequence != super->sequence)
		r = error_set(err, -EIO, "superblock %" PRIu64 " was written, %" PRIu64 " is read back",
			      super->sequence, found.sequence);
	return r;
}

/* A slot whose write failed may have arrived all the same. */
int commit_undo(struct commit *commit, struct source *source, struct error *err)
{
	int r = 0;

	if (commit->slot_written)
		r = source_write(source, 0, commit->slot_offset, commit->former_slot, sizeof(commit->former_slot), err);
	if (r == 0 && commit->slot_written)
		r = source_flush(source, err);
	if (r == 0)
		commit->slot_written = false;
	return r;
}

int commit_begin(struct source *source, struct error *err)
{
	char host[257] = "";

	gethostname(host, sizeof(host) - 1);
	return publisher_write(source, host, (uint64_t)getpid(), (uint64_t)time(NULL), err);
}

int commit_end(struct source *source, struct error *err)
{
	int r = publisher_write(source, NULL, 0, 0, err);

	return r < 0 ? r : source_flush(source, err);
}

/* The host is text from the volume: what is not plain is not shown. */
void commit_who(struct source *source, char who[COMMIT_WHO_SIZE])
{
	char host[257], date[32] = "an unknown time";
	uint64_t process, since;
	struct tm tm;
	time_t when;

	who[0] = 0;
	if (!publisher_read(source, host, &process, &since))
		return;
	for (char *c = host; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '?';
	when = (time_t)since;
	if (since < UINT64_C(1) << 40 && gmtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(who, COMMIT_WHO_SIZE, "process %" PRIu64 " on %s since %s", process, host, date);
}
