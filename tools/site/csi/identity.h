/* SPDX-License-Identifier: MIT */
/* The service csi.v1.Identity: what the plugin is called. */
#pragma once
#include "csi/server.h"

#define IDENTITY_NAME "datasetfs.csi" /* of the driver, in CSIDriver and in pods */

void identity_info(void *argument, struct call *call, struct span message);
void identity_capabilities(void *argument, struct call *call, struct span message);
void identity_probe(void *argument, struct call *call, struct span message);
