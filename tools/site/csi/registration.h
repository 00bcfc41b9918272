/* SPDX-License-Identifier: MIT */
/* The kubelet's service pluginregistration.Registration: it finds the socket by itself, asks what is there, and says
 * whether it took it. */
#pragma once
#include "csi/server.h"

/* argument: the path of the plugin's own socket. */
void registration_info(void *argument, struct call *call, struct span message);
void registration_status(void *argument, struct call *call, struct span message);
