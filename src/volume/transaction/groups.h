/* SPDX-License-Identifier: MIT */
/* Decides which groups a catalogue keeps: the ones in which some version has a segment. */
#pragma once
#include "image/catalogue/catalogue.h"

/* Drops the groups in which no version has a segment, so that their segments become free. */
must_check int groups_drop_unused(struct catalogue *catalogue, struct error *err);
