/* SPDX-License-Identifier: MIT */
/* Calls that need more stack than a thread of a program may have, which is 16 KB at least. */
#pragma once
#include <stdbool.h>

/* False: there is no memory for one, and nothing was called. Called inside. */
bool roomy_call(void (*function)(void *argument), void *argument);
