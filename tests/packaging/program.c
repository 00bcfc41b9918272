/* SPDX-License-Identifier: MIT */
/* A program as somebody writes it who has libdatasetfs-dev: prints the release and one file of a mount. */
#include <datasetfs/datasetfs.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct dsfs *fs;
	void *contents;
	ssize_t size;

	if (argc < 2 || dsfs_open(argv[1], NULL, &fs) < 0 || (size = dsfs_read_file(fs, "stdio.h", &contents)) < 0) {
		fprintf(stderr, "%s\n", dsfs_reason());
		return 1;
	}
	printf("%s\n", dsfs_release());
	fwrite(contents, 1, size, stdout);
	free(contents);
	dsfs_close(fs);
	return 0;
}
