/* SPDX-License-Identifier: MIT */
/* The page that a server shares with its supervisor, which may be of another release: it is zero at first, and fields
 * keep their places. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#include "base/thread/life.h"

struct supervisor_page {
	struct life life;         /* of the server's first thread */
	_Atomic uint32_t notices; /* threads of the server that are in a call which may wait for a request's answer */
	_Atomic uint32_t crashed; /* number of the signal by which the server is about to die; 0: none */
};
