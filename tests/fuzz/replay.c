/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over files: the corpus in the normal test run, one crash when repeating it.
 * With --mutate N it also runs N seeded variations of each file, so that a build without libFuzzer still digs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

static uint64_t state = 88172645463325252u;

static uint64_t replay_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint8_t *replay_read(const char *path, size_t *ret_length)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;
	long length;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0) {
		perror(path);
		exit(2);
	}
	rewind(file);
	bytes = malloc((size_t)length + 1);
	if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length) {
		perror(path);
		exit(2);
	}
	fclose(file);
	*ret_length = (size_t)length;
	return bytes;
}

/* Exactly sized copies, so that a sanitizer sees the first byte past the end. */
static void replay_run(const uint8_t *bytes, size_t length)
{
	uint8_t *copy = malloc(length ? length : 1);

	if (!copy)
		exit(2);
	memcpy(copy, bytes, length);
	LLVMFuzzerTestOneInput(copy, length);
	free(copy);
}

static void replay_mutate(uint8_t *bytes, size_t length, unsigned rounds)
{
	static const uint8_t interesting[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (unsigned i = 0; i < rounds && length; i++) {
		size_t at[4], cut = replay_random() % 16 ? length : replay_random() % length;
		uint8_t old[4];

		for (int k = 0; k < 4; k++) {
			at[k] = replay_random() % length;
			old[k] = bytes[at[k]];
			if (k <= (int)(replay_random() % 4))
				bytes[at[k]] = replay_random() % 2 ? interesting[replay_random() % 5] :
								     (uint8_t)replay_random();
		}
		replay_run(bytes, cut);
		for (int k = 3; k >= 0; k--)
			bytes[at[k]] = old[k];
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = 0, files = 0;

	for (int i = 1; i < argc; i++) {
		uint8_t *bytes;
		size_t length;

		if (!strcmp(argv[i], "--mutate") && i + 1 < argc) {
			rounds = (unsigned)strtoul(argv[++i], NULL, 10);
			continue;
		}
		bytes = replay_read(argv[i], &length);
		replay_run(bytes, length);
		replay_mutate(bytes, length, rounds);
		free(bytes);
		files++;
	}
	if (files == 0) {
		fprintf(stderr, "usage: %s [--mutate N] FILE...\n", argv[0]);
		return 2;
	}
	printf("%u files, %u variations of each\n", files, rounds);
	return 0;
}
