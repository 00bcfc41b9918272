/* SPDX-License-Identifier: MIT */
/* Finds the program that is now installed at the path from which this process was started. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The path of this process's program, whatever lies there now. */
must_check int installed_path(char path[PATH_MAX], struct error *err);
/* Whether another file lies there now. False, too, if there is none. */
bool installed_is_another(void);
/* Opens that file with O_PATH, to be executed. -EPERM: others than root and the owner may write to it or a folder above
 * it. */
must_check int installed_open(uint32_t owner, int *ret_fd, struct error *err);
