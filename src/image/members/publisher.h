/* SPDX-License-Identifier: MIT */
/* The publisher record: the process that is changing the volume now. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"

/* Writes the record. since: seconds since 1970. host NULL clears the record. */
must_check int publisher_write(struct source *source, uint32_t member, const char *host, uint64_t process,
			       uint64_t since,
			       struct error *err);
/* Reads the record. False if there is none. host has room for 257 bytes. */
bool publisher_read(struct source *source, uint32_t member, char *host, uint64_t *process, uint64_t *since);
