/* SPDX-License-Identifier: MIT */
/* Writes what a version says of itself as JSON. */
#include "image/catalogue/version_json.h"

#include "base/text/format.h"
#include "datasetfs/control.h"
#include "image/sums/sum.h"

void version_json(const struct version *version, struct json *json)
{
	char uuid[UUID_TEXT_SIZE], digest[DIGEST_TEXT_SIZE];

	json_string(json, DSFS_CONTROL_LABEL, version->label);
	format_uuid(version->uuid, uuid);
	json_string(json, DSFS_CONTROL_UUID, uuid);
	format_digest(version->digest, digest);
	json_string(json, DSFS_CONTROL_DIGEST, digest);
	json_string(json, DSFS_CONTROL_SUMS, sum_name(version->shape.chunk_sum));
	json_number(json, DSFS_CONTROL_SEQUENCE, version->sequence);
	json_number(json, DSFS_CONTROL_FILES, version->file_count);
	json_number(json, DSFS_CONTROL_BYTES, version->content_bytes);
	json_number(json, DSFS_CONTROL_INODES, version->shape.inode_count);
}
