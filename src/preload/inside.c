/* SPDX-License-Identifier: MIT */
#include "preload/inside.h"

__thread bool inside_is __attribute__((tls_model("initial-exec")));
