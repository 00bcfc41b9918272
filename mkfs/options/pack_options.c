/* SPDX-License-Identifier: MIT */
/* Sets the defaults of all options. */
#include "options/pack_options.h"

#include "image/codec.h"

void pack_options_init(struct pack_options *options)
{
	*options = (struct pack_options){ .level = CODEC_LEVEL_DEFAULT, .chunk_log = PACK_CHUNK_LOG,
					  .retries = PACK_UNSET, .timeout = PACK_UNSET,
					  .requests = PACK_UNSET };
}

void pack_options_free(struct pack_options *options)
{
	filter_free(options->filter);
	options->filter = NULL;
	override_close(&options->override);
	xattrs_wanted_close(&options->xattrs);
	meta_free(&options->meta);
}
