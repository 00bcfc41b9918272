/* SPDX-License-Identifier: MIT */
/* A superblock slot, with its checksum made right so that the fields behind it are reached. */
#include "fuzz/fuzz.h"
#include "image/members/superblock.h"
#include "image/sums/checksum.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct dsfs_superblock disk = { 0 };
	struct superblock super;

	memcpy(&disk, bytes, length < sizeof(disk) ? length : sizeof(disk));
	if (superblock_decode(&disk, &super, NULL) == 0)
		return 0;
	disk.checksum = dsfs_le64_of(checksum_64(&disk, sizeof(disk) - sizeof(disk.checksum)));
	if (superblock_decode(&disk, &super, NULL) == 0 && super.catalogue_length > super.member_size)
		__builtin_trap();
	return 0;
}
