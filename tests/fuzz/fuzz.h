/* SPDX-License-Identifier: MIT */
/* The entry that libFuzzer calls and that replay.c calls with each file of a corpus. */
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
