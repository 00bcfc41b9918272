/* SPDX-License-Identifier: MIT */
/* Tests whether a file or device answers, by a read in a separate process that shares our memory. A thread would not
 * do: if the device hangs, our process could not exit before it answers. */
#pragma once
#include <stdint.h>

#include "base/error.h"

struct read_probe;

/* Starts the read; the descriptor stays the caller's. -ETIMEDOUT: an earlier probe there is still pending. */
must_check int read_probe_begin(int fd, struct read_probe **ret, struct error *err);
/* Waits for the answer and frees the probe; a failed read is an answer. -ETIMEDOUT: none came within patience ns of
 * read_probe_begin(). -EINTR: a signal came that ends the program (base/program/interrupt.h). */
must_check int read_probe_end(struct read_probe *probe, int64_t patience, struct error *err);
