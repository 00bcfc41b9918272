/* SPDX-License-Identifier: MIT */
/* Makes the table of places: ranks all files of the new version by where they lie, also those that it shares with older
 * ones. */
#pragma once
#include "layout/records.h"

/* Appends the table to the blob, once all inodes and addresses are there. *ret_at: where it begins. */
must_check int ranks_add(struct records *records, uint64_t seed, const struct temp *temp, uint64_t *ret_at,
			 struct error *err);
