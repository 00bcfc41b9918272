/* SPDX-License-Identifier: MIT */
/* Allocates a reader's memory; its engine is the owner's. */
#include "read/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "datasetfs/format.h"

int reader_open(struct reader *reader, const struct reader_setup *setup, struct error *err)
{
	*reader = (struct reader){
		.setup = *setup,
		.codec = codec_new(),
		.bounce = malloc(1u << DSFS_CHUNK_LOG_MAX),
	};
	if (reader->codec && reader->bounce)
		return 0;
	reader_close(reader);
	return error_no_memory(err);
}

void reader_close(struct reader *reader)
{
	free(reader->bounce);
	codec_free(reader->codec);
	reader->bounce = NULL;
	reader->codec = NULL;
}
