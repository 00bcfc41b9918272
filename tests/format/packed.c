/* SPDX-License-Identifier: MIT */
/* Remembers content chunk by chunk. */
#include "format/packed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "image/catalogue/catalogue.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/inode.h"
#include "image/members/address.h"

void packed_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

int packed_open(struct packed *packed, struct index **ret, struct error *err)
{
	struct version *current;
	struct catalogue catalogue = { 0 };
	struct superblock super;
	int r = catalogue_load(&packed->all.source, NULL, &super, &catalogue, err);

	if (r < 0)
		return r;
	current = catalogue_current(&catalogue);
	if (current)
		r = index_load(backing_of(&packed->all.source, &catalogue.members), current, ret, err);
	else
		r = error_set(err, -ENOENT, "no current version");
	if (r == 0) {
		memcpy(packed->volume, super.volume_uuid, sizeof(packed->volume));
		version_free(&packed->version);
		packed->version = *current;
		*current = (struct version){ 0 }; /* its lists are packed's */
	}
	catalogue_free(&catalogue);
	return r;
}

int packed_read_chunk(struct packed *packed, struct index *index, const struct chunk *chunk, uint8_t *out,
		      struct error *err)
{
	static uint8_t stored[1u << DSFS_CHUNK_LOG_MAX];
	int r;

	if (chunk_is_hole(chunk))
		return chunk_decode(chunk, packed->codec, NULL, out, err);
	if (chunk_is_inline(chunk))
		return chunk_decode(chunk, packed->codec, chunk_inline_bytes(index, chunk), out, err);
	r = source_read(&packed->all.source, address_member(chunk->address), address_offset(chunk->address), stored,
			chunk->stored, err);
	return r < 0 ? r : chunk_decode(chunk, packed->codec, stored, out, err);
}

static void packed_remember(struct packed *packed, struct index *index, const struct inode *inode, uint64_t i)
{
	struct original *o;
	struct chunk chunk;
	struct error err = { 0 };

	if (packed->count == packed->room) {
		packed->room = packed->room ? 2 * packed->room : 1024;
		packed->originals = realloc(packed->originals, packed->room * sizeof(*o));
		if (!packed->originals)
			packed_die("no memory");
	}
	o = &packed->originals[packed->count++];
	if (chunk_get(index, inode, i, &chunk, &err) < 0)
		packed_die(err.reason);
	*o = (struct original){ .ordinal = inode->ordinal, .number = i, .length = chunk.length };
	if (!chunk_is_hole(&chunk) && !chunk_is_inline(&chunk)) {
		o->from = address_offset(chunk.address);
		o->to = o->from + chunk.stored;
	}
	o->content = malloc(chunk.length);
	if (!o->content || packed_read_chunk(packed, index, &chunk, o->content, &err) < 0)
		packed_die(err.reason);
}

static void packed_remember_all(struct packed *packed)
{
	struct error err = { 0 };
	struct index *index;
	struct inode inode;

	if (packed_open(packed, &index, &err) < 0 || dump_digest(index, packed->digest, &err) < 0)
		packed_die(err.reason);
	for (uint64_t ordinal = 1; ordinal <= index->shape.inode_count; ordinal++) {
		if (inode_get(index, ordinal, &inode, &err) < 0)
			packed_die(err.reason);
		for (uint64_t i = 0; S_ISREG(inode.mode) && i < inode_chunk_count(index, &inode); i++)
			packed_remember(packed, index, &inode, i);
	}
	index_close(index);
}

static void packed_read(struct memory *member, const char *path)
{
	struct stat st;
	FILE *file = fopen(path, "rb");

	if (!file || fstat(fileno(file), &st) < 0)
		packed_die(path);
	memory_init(member, (uint64_t)st.st_size);
	if (fread(member->bytes, 1, member->size, file) != member->size)
		packed_die(path);
	fclose(file);
}

static void packed_read_members(struct packed *packed, const char *volume)
{
	auto_free char *names = strdup(volume);
	char *rest = names, *name;

	multi_member_init(&packed->all, 0, 0);
	packed->memory = packed->all.members;
	while ((name = strsep(&rest, ","))) {
		if (packed->all.count == MULTI_MEMBER_MAX)
			packed_die("too many members");
		packed_read(&packed->all.members[packed->all.count++], name);
	}
}

void packed_load(struct packed *packed, const char *volume)
{
	*packed = (struct packed){ .codec = codec_new() };
	if (!packed->codec)
		packed_die("no memory");
	packed_read_members(packed, volume);
	packed_remember_all(packed);
}

uint8_t *packed_copy(const struct packed *packed, uint32_t member)
{
	const struct memory *memory = &packed->all.members[member];
	uint8_t *copy = malloc(memory->size);

	if (!copy)
		packed_die("no memory");
	return memcpy(copy, memory->bytes, memory->size);
}

void packed_free(struct packed *packed)
{
	for (size_t i = 0; i < packed->count; i++)
		free(packed->originals[i].content);
	free(packed->originals);
	version_free(&packed->version);
	codec_free(packed->codec);
	multi_member_done(&packed->all);
}
