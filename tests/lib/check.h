/* SPDX-License-Identifier: MIT */
/* The header of every unit test: cmocka in its required order, and checks of results with their reasons. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

/* The call succeeds; otherwise its reason is printed. */
#define CHECK_OK(call)                                                        \
	do {                                                                  \
		struct error err = { 0 };                                     \
		int check_r = (call);                                         \
		if (check_r < 0)                                              \
			fail_msg("%s: %d: %s", #call, check_r, err.reason);   \
	} while (0)

/* The call fails with this code and a reason that contains text. */
#define CHECK_FAILS(call, code, text)                                                             \
	do {                                                                                      \
		struct error err = { 0 };                                                         \
		int check_r = (call);                                                             \
		if (check_r != (code) || !strstr(err.reason, text))                               \
			fail_msg("%s: %d '%s', expected %d '%s'", #call, check_r, err.reason,     \
				 (int)(code), text);                                              \
	} while (0)
