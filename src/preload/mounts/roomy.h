/* SPDX-License-Identifier: MIT */
/* Makes calls that need more stack than a program's thread may have, which can be as small as 16 KB. */
#pragma once
#include <stdbool.h>

/* Calls the function on a larger stack, inside our code (inside.h). False: there was no memory, and nothing was
 * called. */
bool roomy_call(void (*function)(void *argument), void *argument);
