/* SPDX-License-Identifier: MIT */
/* Whether so much memory may be taken: a sealed memfd cannot be given back to the kernel under pressure, so what does not
 * fit ends in the OOM killer and never in an error. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* -ENOMEM with the reason when the machine, or a control group of this process, has not so many bytes left. */
must_check int headroom_check(uint64_t bytes, struct error *err);
