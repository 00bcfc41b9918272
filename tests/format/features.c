/* SPDX-License-Identifier: MIT */
/* Sets a feature bit that no release knows, as a newer one would: in the superblock, or in the first version; or the
 * kind of that version's sums.
 * usage: features VOLUME superblock|compat|incompat|sums */
#include <stdio.h>
#include <string.h>

#include "format/reseal.h"
#include "image/catalogue/catalogue.h"
#include "io/file.h"

#define UNKNOWN (UINT64_C(1) << 40)

static uint64_t *word_of(struct superblock *super, struct catalogue *catalogue, const char *name)
{
	if (!strcmp(name, "superblock"))
		return &super->feature_compat;
	return strcmp(name, "compat") ? &catalogue->versions[0].feature_incompat :
					&catalogue->versions[0].feature_compat;
}

int main(int argc, char **argv)
{
	struct catalogue catalogue = { 0 };
	struct file_source *file = NULL;
	struct superblock super;
	struct error err = { 0 };
	int r;

	if (argc != 3) {
		fputs("usage: features VOLUME superblock|compat|incompat|sums\n", stderr);
		return 2;
	}
	r = file_open(argv[1], FILE_WRITE, &file, &err);
	if (r == 0)
		r = catalogue_load(&file->source, NULL, &super, &catalogue, &err);
	if (r == 0) {
		if (!strcmp(argv[2], "sums"))
			catalogue.versions[0].shape.chunk_sum = 3;
		else
			*word_of(&super, &catalogue, argv[2]) |= UNKNOWN;
		r = reseal_catalogue(&file->source, &super, &catalogue, &err);
	}
	catalogue_free(&catalogue);
	file_close(file);
	if (r < 0)
		fprintf(stderr, "features: %s\n", err.reason);
	return r < 0;
}
