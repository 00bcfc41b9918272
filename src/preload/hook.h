/* SPDX-License-Identifier: MIT */
/* A function of the C library that this library stands in front of. */
#pragma once

#define HOOK __attribute__((visibility("default")))
/* Another name of the same function, as the header that declares it may not. */
#define HOOK_ALIAS(name, of) extern __typeof__(of) name HOOK __attribute__((alias(#of)))
