/* SPDX-License-Identifier: MIT */
/* Owns the flag that tells whether this thread is in our own code. */
#include "preload/process/inside.h"

__thread bool inside_is __attribute__((tls_model("initial-exec")));
