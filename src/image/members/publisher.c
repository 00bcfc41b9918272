/* SPDX-License-Identifier: MIT */
/* The publisher record: encode and check. */
#include "image/members/publisher.h"

#include <string.h>

#include "base/direct.h"
#include "datasetfs/format.h"
#include "image/sums/checksum.h"

#define SUMMED (sizeof(struct dsfs_publisher) - sizeof(dsfs_le64))

int publisher_write(struct source *source, uint32_t member, const char *host, uint64_t process, uint64_t since,
		    struct error *err)
{
	struct dsfs_publisher disk __attribute__((aligned(DIRECT_ALIGN)));

	memset(&disk, 0, sizeof(disk));
	if (host) {
		memcpy(disk.magic, DSFS_PUBLISHER_MAGIC, sizeof(disk.magic));
		disk.since = dsfs_le64_of(since);
		disk.process = dsfs_le64_of(process);
		memcpy(disk.host, host, strnlen(host, sizeof(disk.host)));
		disk.checksum = dsfs_le64_of(checksum_64(&disk, SUMMED));
	}
	return source_write(source, member, DSFS_PUBLISHER_AT, &disk, sizeof(disk), err);
}

bool publisher_read(struct source *source, uint32_t member, char *host, uint64_t *process, uint64_t *since)
{
	struct dsfs_publisher disk __attribute__((aligned(DIRECT_ALIGN)));

	if (source_read(source, member, DSFS_PUBLISHER_AT, &disk, sizeof(disk), NULL) < 0 ||
	    memcmp(disk.magic, DSFS_PUBLISHER_MAGIC, sizeof(disk.magic)) != 0 ||
	    dsfs_le64_get(disk.checksum) != checksum_64(&disk, SUMMED))
		return false;
	memcpy(host, disk.host, sizeof(disk.host));
	host[sizeof(disk.host)] = 0;
	*process = dsfs_le64_get(disk.process);
	*since = dsfs_le64_get(disk.since);
	return true;
}
