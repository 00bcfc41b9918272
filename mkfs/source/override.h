/* SPDX-License-Identifier: MIT */
/* Holds the owners and modes that options give to everything, instead of those of the source. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "source/attributes.h"
#include "source/mode.h"

struct override {
	bool has_owner, has_group;
	uint32_t owner, group;
	struct mode_changes modes; /* not of symlinks */
};

/* Sets the owner or group from a name or a number. */
must_check int override_set_owner(struct override *override, const char *text, struct error *err);
must_check int override_set_group(struct override *override, const char *text, struct error *err);
void override_close(struct override *override); /* a zeroed one may be closed, too */
/* Replaces mode, uid and gid. */
void override_apply(const struct override *override, struct attributes *attributes);
