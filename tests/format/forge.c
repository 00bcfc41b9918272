/* SPDX-License-Identifier: MIT */
/* A publisher who is not honest, or somebody else who can write the volume: changes a version and makes all sums right
 * that need no key.
 * usage: forge VOLUME index FROM TO             every FROM in the current version's index becomes TO, which is as long
 *        forge VOLUME inodes LABEL ONE OTHER    exchanges two inodes by their ordinals
 *        forge VOLUME chunks LABEL ONE OTHER    exchanges two chunk records by their numbers
 *        forge VOLUME places LABEL ONE OTHER    exchanges where two chunks lie, but not their sums
 *        forge VOLUME labels ONE OTHER          exchanges the labels of two versions
 *        forge VOLUME signatures LABEL FILE     the version has these signatures alone
 *        forge VOLUME take LABEL FROM           the version has the signatures of FROM, and its label
 *        forge VOLUME created LABEL SECONDS     the version's date in its record
 *        forge VOLUME count LABEL FIELD NUMBER  files, directories, symlinks or bytes in its record
 *        forge VOLUME modes LABEL BIT           a bit of the mode of all classes of attributes
 * All but the first give a version whose index they change the digest that it has then. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/reseal.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/members/address.h"
#include "io/file.h"

struct forge {
	struct source *source;
	struct superblock super;
	struct catalogue catalogue;
	char **words;
};

static struct version *forge_find(struct forge *forge, const char *label)
{
	struct version *version = catalogue_by_label(&forge->catalogue, label);

	if (!version) {
		fprintf(stderr, "forge: there is no version '%s'\n", label);
		exit(1);
	}
	return version;
}

/* --- the index --- */

typedef int forge_change(struct forge *forge, const struct index_layout *layout, const struct version *version,
			 uint8_t *bytes, struct error *err);

static int forge_index(struct forge *forge, struct version *version, forge_change *change, struct error *err)
{
	uint64_t length = version->index.length, at = address_offset(version->index.extents.items[0].address);
	auto_free uint8_t *bytes = malloc(length);
	struct index_layout layout;
	int r = bytes ? index_layout(&version->shape, &layout, err) : error_no_memory(err);

	if (r == 0)
		r = source_read(forge->source, 0, at, bytes, length, err);
	if (r == 0)
		r = change(forge, &layout, version, bytes, err);
	if (r == 0)
		r = source_write(forge->source, 0, at, bytes, length, err);
	return r < 0 ? r : reseal_index(forge->source, version, err);
}

static int forge_replace(struct forge *forge, const struct index_layout *layout, const struct version *version,
			 uint8_t *bytes, struct error *err)
{
	const char *from = forge->words[0], *to = forge->words[1];
	uint8_t *at = bytes, *end = bytes + version->index.length;
	unsigned count = 0;

	if (strlen(from) != strlen(to))
		return error_set(err, -EINVAL, "'%s' is not as long as '%s'", to, from);
	for (; (at = memmem(at, (size_t)(end - at), from, strlen(from))); count++)
		memcpy(at, to, strlen(to));
	return count ? 0 : error_set(err, -ENOENT, "there is no '%s' in the index", from);
}

/* Changes rows, and computes the digest of what the index says then. */
static int forge_rows(struct forge *forge, forge_change *change, struct error *err)
{
	struct version *version = forge_find(forge, forge->words[0]);
	struct index *index;
	int r = forge_index(forge, version, change, err);

	if (r == 0)
		r = index_load(backing_of(forge->source, &forge->catalogue.members), version, &index, err);
	if (r < 0)
		return r;
	r = dump_digest(index, version->digest, err);
	index_close(index);
	return r;
}

static void forge_swap(uint8_t *one, uint8_t *other, size_t size)
{
	uint8_t kept[64];

	memcpy(kept, one, size);
	memcpy(one, other, size);
	memcpy(other, kept, size);
}

static int forge_inodes(struct forge *forge, const struct index_layout *layout, const struct version *version,
			uint8_t *bytes, struct error *err)
{
	const size_t size = sizeof(struct dsfs_inode);
	uint8_t *inodes = bytes + layout->inodes;

	forge_swap(inodes + (strtoul(forge->words[1], NULL, 10) - 1) * size,
		   inodes + (strtoul(forge->words[2], NULL, 10) - 1) * size, size);
	return 0;
}

static uint8_t *forge_record(struct forge *forge, const struct index_layout *layout, const struct version *version,
			     uint8_t *bytes, unsigned word)
{
	return bytes + layout->chunks +
	       strtoul(forge->words[word], NULL, 10) * index_record_size(version->shape.chunk_sum);
}

static int forge_chunks(struct forge *forge, const struct index_layout *layout, const struct version *version,
			uint8_t *bytes, struct error *err)
{
	forge_swap(forge_record(forge, layout, version, bytes, 1), forge_record(forge, layout, version, bytes, 2),
		   index_record_size(version->shape.chunk_sum));
	return 0;
}

static int forge_places(struct forge *forge, const struct index_layout *layout, const struct version *version,
			uint8_t *bytes, struct error *err)
{
	struct dsfs_chunk *one = (void *)forge_record(forge, layout, version, bytes, 1);
	struct dsfs_chunk *other = (void *)forge_record(forge, layout, version, bytes, 2);

	forge_swap((uint8_t *)&one->address, (uint8_t *)&other->address, sizeof(one->address));
	return 0;
}

/* --- records --- */

static int forge_labels(struct forge *forge, struct error *err)
{
	struct version *one = forge_find(forge, forge->words[0]), *other = forge_find(forge, forge->words[1]);

	strcpy(one->label, forge->words[1]);
	strcpy(other->label, forge->words[0]);
	return 0;
}

static int forge_set_signatures(struct version *version, char *text, size_t length, struct error *err)
{
	if (!text)
		return error_no_memory(err);
	free(version->signatures);
	version->signatures = text;
	version->signature_bytes = (uint32_t)length;
	version->feature_compat |= DSFS_VERSION_COMPAT_SIGNED;
	return 0;
}

static int forge_signatures(struct forge *forge, struct error *err)
{
	struct version *version = forge_find(forge, forge->words[0]);
	auto_fclose FILE *in = fopen(forge->words[1], "re");
	char *text = malloc(1u << 24);
	size_t length = in && text ? fread(text, 1, 1u << 24, in) : 0;

	return length ? forge_set_signatures(version, text, length, err) :
			error_errno(err, "'%s'", forge->words[1]);
}

static int forge_take(struct forge *forge, struct error *err)
{
	struct version *version = forge_find(forge, forge->words[0]), *from = forge_find(forge, forge->words[1]);
	int r = forge_set_signatures(version, strndup(from->signatures, from->signature_bytes), from->signature_bytes,
				     err);

	strcpy(from->label, forge->words[0]);
	strcpy(version->label, forge->words[1]);
	return r;
}

static int forge_created(struct forge *forge, struct error *err)
{
	forge_find(forge, forge->words[0])->created = strtoull(forge->words[1], NULL, 10);
	return 0;
}

static int forge_count(struct forge *forge, struct error *err)
{
	struct version *version = forge_find(forge, forge->words[0]);
	const struct { const char *name; uint64_t *value; } fields[] = {
		{ "files", &version->file_count }, { "directories", &version->directory_count },
		{ "symlinks", &version->symlink_count }, { "bytes", &version->content_bytes },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!strcmp(forge->words[1], fields[i].name)) {
			*fields[i].value = strtoull(forge->words[2], NULL, 10);
			return 0;
		}
	return error_set(err, -EINVAL, "there is no count '%s'", forge->words[1]);
}

static int forge_class_modes(struct forge *forge, const struct index_layout *layout, const struct version *version,
			     uint8_t *bytes, struct error *err)
{
	struct dsfs_class *classes = (void *)(bytes + layout->classes);
	uint32_t bit = 1u << strtoul(forge->words[1], NULL, 10);

	for (uint64_t i = 0; i < version->shape.class_count; i++)
		classes[i].mode = dsfs_le32_of(dsfs_le32_get(classes[i].mode) ^ bit);
	return 0;
}

static int forge_modes(struct forge *forge, struct error *err)
{
	return forge_index(forge, forge_find(forge, forge->words[0]), forge_class_modes, err);
}

/* --- what there is --- */

static int forge_current(struct forge *forge, struct error *err)
{
	return forge_index(forge, catalogue_current(&forge->catalogue), forge_replace, err);
}

static int forge_exchange_inodes(struct forge *forge, struct error *err)
{
	return forge_rows(forge, forge_inodes, err);
}

static int forge_exchange_chunks(struct forge *forge, struct error *err)
{
	return forge_rows(forge, forge_chunks, err);
}

static int forge_exchange_places(struct forge *forge, struct error *err)
{
	return forge_rows(forge, forge_places, err);
}

static const struct forge_verb {
	const char *name;
	int words;
	int (*run)(struct forge *forge, struct error *err);
} forge_verbs[] = {
	{ "index", 2, forge_current },          { "inodes", 3, forge_exchange_inodes },
	{ "chunks", 3, forge_exchange_chunks }, { "places", 3, forge_exchange_places },
	{ "labels", 2, forge_labels },          { "signatures", 2, forge_signatures },
	{ "take", 2, forge_take },              { "created", 2, forge_created },
	{ "count", 3, forge_count },            { "modes", 2, forge_modes },
};

static const struct forge_verb *forge_choose(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(forge_verbs) / sizeof(*forge_verbs); i++)
		if (!strcmp(argv[2], forge_verbs[i].name) && argc == 3 + forge_verbs[i].words)
			return &forge_verbs[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct forge_verb *verb = forge_choose(argc, argv);
	struct file_source *file = NULL;
	struct forge forge = { .words = argv + 3 };
	struct error err = { 0 };
	int r;

	if (!verb) {
		fputs("usage: see the top of tests/format/forge.c\n", stderr);
		return 2;
	}
	r = file_open(argv[1], FILE_WRITE, &file, &err);
	if (r == 0) {
		forge.source = &file->source;
		r = catalogue_load(forge.source, NULL, &forge.super, &forge.catalogue, &err);
	}
	if (r == 0)
		r = verb->run(&forge, &err);
	if (r == 0)
		r = reseal_catalogue(forge.source, &forge.super, &forge.catalogue, &err);
	catalogue_free(&forge.catalogue);
	file_close(file);
	if (r < 0)
		fprintf(stderr, "forge: %s\n", err.reason);
	return r < 0;
}
