/* SPDX-License-Identifier: MIT */
/* A publisher who is not honest: changes bytes of the current version's index and signs it anew.
 * usage: forge VOLUME FROM TO: every FROM in the index becomes TO, which is as long */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/catalogue/catalogue.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"
#include "io/file.h"

/* Packed by one publish, an index lies in one piece. */
static int forge_index(struct source *source, struct version *version, const char *from, const char *to,
		       struct error *err)
{
	uint64_t length = version->index.extents.items[0].length;
	uint64_t offset = address_offset(version->index.extents.items[0].address);
	uint8_t *bytes = malloc(length), *at = bytes;
	unsigned count = 0;
	int r;

	if (!bytes || version->index.extents.count != 1)
		r = error_set(err, -EINVAL, "an index in %u pieces", version->index.extents.count);
	else
		r = source_read(source, 0, offset, bytes, length, err);
	for (; r == 0 && (at = memmem(at, length - (uint64_t)(at - bytes), from, strlen(from))); count++)
		memcpy(at, to, strlen(to));
	if (r == 0 && count == 0)
		r = error_set(err, -ENOENT, "there is no '%s' in the index", from);
	if (r == 0)
		r = sha256_of(bytes, length, version->index.sha256, err);
	if (r == 0)
		r = source_write(source, 0, offset, bytes, length, err);
	free(bytes);
	return r;
}

static int forge_volume(struct source *source, const char *from, const char *to, struct error *err)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	uint8_t *bytes = NULL;
	uint64_t length;
	int r = catalogue_load(source, &super, &catalogue, err);

	for (uint32_t i = 0; r == 0 && i < catalogue.version_count; i++)
		if (catalogue.versions[i].sequence == catalogue.current)
			r = forge_index(source, &catalogue.versions[i], from, to, err);
	if (r == 0)
		r = catalogue_encode(&catalogue, &bytes, &length, err);
	if (r == 0)
		r = source_write(source, 0, address_offset(super.catalogue_address), bytes, length, err);
	if (r == 0)
		r = sha256_of(bytes, length, super.catalogue_sha256, err);
	if (r == 0)
		r = superblock_write(source, &super, err);
	free(bytes);
	catalogue_free(&catalogue);
	return r;
}

int main(int argc, char **argv)
{
	struct file_source *file = NULL;
	struct error err = { 0 };
	int r;

	if (argc != 4 || strlen(argv[2]) != strlen(argv[3])) {
		fputs("usage: forge VOLUME FROM TO, both of one length\n", stderr);
		return 2;
	}
	r = file_open(argv[1], FILE_WRITE, &file, &err);
	if (r == 0)
		r = forge_volume(&file->source, argv[2], argv[3], &err);
	file_close(file);
	if (r < 0)
		fprintf(stderr, "forge: %s\n", err.reason);
	return r < 0;
}
