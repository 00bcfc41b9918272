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

/* main(): runs these tests of cmocka, between group_setup and group_teardown. */
#define CHECK_MAIN_WITH(group_setup, group_teardown, ...)                              \
	int main(void)                                                                 \
	{                                                                              \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                     \
                                                                                       \
		return cmocka_run_group_tests(tests, group_setup, group_teardown);     \
	}

#define CHECK_MAIN(...) CHECK_MAIN_WITH(NULL, NULL, __VA_ARGS__)
