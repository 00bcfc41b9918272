/* SPDX-License-Identifier: MIT */
/* Device addresses: a member number and a byte offset in one word. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "datasetfs/format.h"

static inline uint64_t address_make(uint32_t member, uint64_t offset)
{
	return (uint64_t)member << DSFS_ADDRESS_BITS | offset;
}

static inline uint32_t address_member(uint64_t address)
{
	return (uint32_t)(address >> DSFS_ADDRESS_BITS);
}

static inline uint64_t address_offset(uint64_t address)
{
	return address & ((UINT64_C(1) << DSFS_ADDRESS_BITS) - 1);
}
