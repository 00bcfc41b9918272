/* SPDX-License-Identifier: MIT */
/* The entry that libFuzzer calls and that replay.c calls with each file of a corpus. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define FUZZ_IS_SHA256 0x100u /* set in the number that has the chunk size's log: sums are SHA-256 */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
