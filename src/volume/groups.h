/* SPDX-License-Identifier: MIT */
/* The groups that a catalogue keeps: those in which some version has a segment. */
#pragma once
#include "image/catalogue.h"

/* Drops the others, so that their segments are free. */
must_check int groups_drop_unused(struct catalogue *catalogue, struct error *err);
