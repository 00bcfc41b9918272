/* SPDX-License-Identifier: MIT */
/* What a mount reports in MNT/.datasetfs (datasetfs/control.h). */
#pragma once
#include <stdint.h>

#include "base/error.h"

struct status_version {
	char *volume; /* path of the volume as the daemon opened it */
	uint8_t volume_uuid[16];
	uint64_t sequence; /* of the version that the mount serves */
	uint8_t uuid[16];  /* and its UUID */
};

must_check int status_read_version(const char *mount, struct status_version *ret, struct error *err);
void status_version_free(struct status_version *version); /* its contents */
