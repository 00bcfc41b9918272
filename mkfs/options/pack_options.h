/* SPDX-License-Identifier: MIT */
/* Holds the options of the packer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/program/progress.h"
#include "image/meta.h"
#include "source/override.h"
#include "source/xattrs.h"

#define PACK_CHUNK_LOG   17u
#define PACK_SEGMENT_LOG 24u
#define PACK_RETRIES     10u
#define PACK_TIMEOUT     60u /* seconds */
#define PACK_REQUESTS    32u
#define PACK_UNSET       UINT32_MAX /* of the three above: the option is not set */

enum pack_compress { PACK_RAW, PACK_ZSTD, PACK_AUTO };
enum pack_order { PACK_LAST, PACK_TREE, PACK_RANDOM };

struct pack_options {
	const char *volume; /* see members/naming.h */
	char *const *sources; /* a directory, or archives; of URLs what might be secret is overwritten */
	unsigned source_count;
	const char *endpoint, *region; /* of an object store, NULL: as the environment says */
	const char *ca_file;       /* of URLs: certificates, NULL: those of the machine, */
	unsigned retries, timeout; /* repetitions in a row, seconds without a byte; PACK_UNSET: the default, */
	unsigned requests; /* as here; at a time */
	bool nested;        /* unpack archives inside archives */
	bool require_end;   /* a tar archive must have the mark of its end */
	const char *zip_charset; /* of names that are not UTF-8, see tar_charset.h; NULL: the default */
	bool into_folders;  /* each archive becomes a folder */
	unsigned duplicates; /* enum tar_duplicates: entries of one name in archives */
	unsigned strip;     /* components of names in archives */
	unsigned degraded; /* enum degraded: which members may be missing */
	uint32_t copies; /* copies of everything written; 0: as many as last time */
	const char *label; /* NULL: v1, v2, … */
	struct meta meta; /* of the version */
	const char *sign; /* key to sign the version with, as ssh-keygen -f names it; NULL: it is not signed */
	bool force, format, no_current;
	bool write_protect; /* keep namespaces write-protected between publishes */
	bool preempt;       /* take another host's reservation away */
	enum pack_compress compress;
	int level;
	enum pack_order order; /* PACK_LAST: as the volume's newest version */
	uint64_t seed;         /* of PACK_RANDOM */
	uint32_t sums; /* DSFS_SUM_*; 0: as the volume's newest version */
	uint32_t chunk_log;
	uint32_t segment_log; /* of a new volume; 0: the default for its size */
	unsigned jobs;        /* 0: one for each CPU */
	struct filter *filter;
	const char *from_list; /* NULL: everything */
	const char *dereference; /* symlinks below this directory are followed; NULL: none */
	struct override override;
	struct xattrs_wanted xattrs;
	const char *temp_dir;  /* NULL: target_open_temp() chooses */
	bool refuse_special;
	bool allow_empty; /* publish a version without entries */
	bool dry_run;
	bool json;
	enum progress_kind progress;
	bool trust_mtime;
	const char *trusted; /* label of the version to trust, NULL: the current one */
	bool has_uuid;
	uint8_t uuid[16]; /* of a new volume */
};

void pack_options_init(struct pack_options *options);
void pack_options_free(struct pack_options *options);
