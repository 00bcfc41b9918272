/* SPDX-License-Identifier: MIT */
/* Shows the progress of a run on standard error, from a thread of its own. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum progress_kind { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

struct progress;

must_check int progress_open(enum progress_kind kind, struct progress **ret, struct error *err);
void progress_close(struct progress *progress); /* does nothing for NULL, like the functions below */
/* Starts a phase; total_bytes is 0 if not known in advance. phase must be a string constant. */
void progress_phase(struct progress *progress, const char *phase, uint64_t total_bytes);
void progress_add(struct progress *progress, uint64_t files, uint64_t bytes);
