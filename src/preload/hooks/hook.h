/* SPDX-License-Identifier: MIT */
/* Marks a function of the C library that this library interposes. */
#pragma once

#define HOOK_EXPORTED __attribute__((visibility("default")))
/* Declares hook_NAME() with the symbol NAME: a program that calls the C library's function calls ours. */
#define HOOK(name) extern __typeof__(name) hook_##name __asm__(#name) HOOK_EXPORTED
/* Exports the function under another name, and declares that name, as the C library's headers may not. */
#define HOOK_ALIAS(name, of) extern __typeof__(of) name HOOK_EXPORTED __attribute__((alias(#of)))
