/* SPDX-License-Identifier: MIT */
/* Places of the volume that reads found damaged: each once, the first ones. Any thread. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "read/reader.h"

#define DAMAGE_MAX 4096u /* places; further ones are counted */

struct damage;

must_check int damage_new(struct damage **ret, struct error *err);
void damage_free(struct damage *damage);
/* version: its label. */
void damage_add(struct damage *damage, const struct reader_place *place, const char *version, const struct error *why);
/* Places that are listed. */
uint64_t damage_count(struct damage *damage);
/* A line for each, see DSFS_CONTROL_DAMAGE. */
void damage_write(struct damage *damage, FILE *out);
