/* SPDX-License-Identifier: MIT */
/* Marks a function of the C library that this library interposes. */
#pragma once

#define HOOK __attribute__((visibility("default")))
/* Exports the function under another name, and declares that name, as the C library's headers may not. */
#define HOOK_ALIAS(name, of) extern __typeof__(of) name HOOK __attribute__((alias(#of)))
