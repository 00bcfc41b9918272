/* SPDX-License-Identifier: MIT */
/* Marks a function of the C library that this library stands in front of. */
#pragma once

#define HOOK __attribute__((visibility("default")))
/* Exports the function under another name, which this declares, as the headers may not. */
#define HOOK_ALIAS(name, of) extern __typeof__(of) name HOOK __attribute__((alias(#of)))
