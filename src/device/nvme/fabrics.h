/* SPDX-License-Identifier: MIT */
/* Connections to NVMe targets, which the kernel makes and ends through files of its own; libnvme is not asked. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "device/nvme/host.h"
#include "device/nvme/portal.h"

/* Options of a connection; 0: the kernel's default. Times are in seconds; ctrl_loss_tmo and fast_io_fail_tmo may be -1:
 * never. */
struct fabrics_settings {
	int queues, queue_size;
	int reconnect_delay, ctrl_loss_tmo, fast_io_fail_tmo, keep_alive_tmo;
	bool digests; /* TCP's header and data digests */
};

#define FABRICS_NAME_SIZE 32
/* Connects a controller and returns its name. -EALREADY: the portal is connected already. */
must_check int fabrics_connect(const struct host *host, const char *nqn, const struct portal *portal,
			       const struct fabrics_settings *settings, char name[FABRICS_NAME_SIZE],
			       struct error *err);
/* Disconnects the controller called name, and returns when it is gone. */
must_check int fabrics_disconnect(const char *name, struct error *err);
