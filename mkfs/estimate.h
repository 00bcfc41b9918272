/* SPDX-License-Identifier: MIT */
/* What a publish would take, from the scan alone: no file is read. */
#pragma once
#include "pack.h"
#include "scan.h"
#include "image/space.h"

struct estimate;

must_check int estimate_open(uint32_t chunk_log, struct estimate **ret, struct error *err);
void estimate_free(struct estimate *estimate);
struct scan_sink estimate_sink(struct estimate *estimate);
/* space: what is free on the target. */
must_check int estimate_end(const struct estimate *estimate, const struct scan_counts *counts,
			    const struct target *target, const struct space *space, struct pack_estimate *ret,
			    struct error *err);
